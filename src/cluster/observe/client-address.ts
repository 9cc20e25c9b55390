import { CLIENT_PORT } from "#api/names.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

/** Address of the client Service, host and port; `undefined` when it has none of its own. */
export function clientAddress({ clientService }: ClusterSnapshot): string | undefined {
  const address = clientService?.spec?.clusterIP;
  if (address === undefined || address === "None") return undefined;
  return address.includes(":") ? `[${address}]:${CLIENT_PORT}` : `${address}:${CLIENT_PORT}`;
}

/** Whether condition Ready is True for the current generation: then the client Service is not tested again. */
export function isCalledReady({ cluster }: Pick<ClusterSnapshot, "cluster">): boolean {
  const ready = cluster.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && ready.observedGeneration === cluster.metadata.generation;
}
