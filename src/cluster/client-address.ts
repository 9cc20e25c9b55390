import { CLIENT_PORT } from "#api/names.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

/** Where the client Service is to be asked, host and port; `undefined` when it has no address of its own. */
export function clientAddress({ clientService }: ClusterSnapshot): string | undefined {
  const address = clientService?.spec?.clusterIP;
  if (address === undefined || address === "None") return undefined;
  return address.includes(":") ? `[${address}]:${CLIENT_PORT}` : `${address}:${CLIENT_PORT}`;
}

/** Whether the cluster is called Ready by now, as it is wanted now: then it is not asked again. */
export function isCalledReady({ cluster }: Pick<ClusterSnapshot, "cluster">): boolean {
  const ready = cluster.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && ready.observedGeneration === cluster.metadata.generation;
}
