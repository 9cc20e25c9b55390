import { isStale, withHash } from "#api/applied-hash.ts";
import {
  CLIENT_PORT,
  CLIENT_PORT_NAME,
  clientServiceName,
  clusterLabels,
  headlessServiceName,
  memberSelector,
  PEER_PORT,
  PEER_PORT_NAME,
} from "#api/names.ts";
import { fingerprint } from "#base/hash.ts";
import { ownedBy } from "#cluster/desired/owned.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Draft, Service } from "#kube/kinds.ts";

const CLIENT = { name: CLIENT_PORT_NAME, port: CLIENT_PORT, targetPort: CLIENT_PORT, protocol: "TCP" as const };
const PEER = { name: PEER_PORT_NAME, port: PEER_PORT, targetPort: PEER_PORT, protocol: "TCP" as const };

/**
 * Gives every member a DNS name that outlives its pod. Names resolve before members are ready, because members must find
 * each other to become ready.
 */
export function headlessService(snapshot: ClusterSnapshot): Draft<Service> {
  const name = headlessServiceName(snapshot.cluster.metadata.name);
  return service(snapshot, name, { clusterIP: "None", publishNotReadyAddresses: true, ports: [CLIENT, PEER] });
}

/** One address for clients; leads only to members that answer linearizable reads. */
export function clientService(snapshot: ClusterSnapshot): Draft<Service> {
  const name = clientServiceName(snapshot.cluster.metadata.name);
  return service(snapshot, name, { type: "ClusterIP", ports: [CLIENT] });
}

function service(snapshot: ClusterSnapshot, name: string, spec: Service["spec"]): Draft<Service> {
  const { namespace, name: clusterName } = snapshot.cluster.metadata;
  return withHash<Service>({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name, labels: clusterLabels(clusterName), ownerReferences: [ownedBy(snapshot)] },
    spec: { ...spec, selector: memberSelector(clusterName) },
  });
}

/** Whether the live Service has to be written: our wish has changed, or somebody changed what matters about it. */
export function serviceDiffers(live: Service, wanted: Draft<Service>): boolean {
  return isStale(live, wanted) || fingerprint(essence(live)) !== fingerprint(essence(wanted));
}

/** What leads clients and members to the right pods; the server adds much else. */
function essence({ spec }: Pick<Draft<Service>, "spec">) {
  return {
    selector: spec?.selector,
    isHeadless: spec?.clusterIP === "None",
    publishNotReadyAddresses: spec?.publishNotReadyAddresses ?? false,
    ports: spec?.ports?.map(({ name, port, targetPort, protocol }) => ({ name, port, targetPort, protocol })),
  };
}
