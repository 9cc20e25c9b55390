import { clusterSelector, selectorText } from "#api/names.ts";
import { takenText } from "#cluster/owned.ts";
import { type ClusterSnapshot, identityOf, isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { controllerOf, type KubeObject } from "#kube/kinds.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Objects that have one of the cluster's names and another owner are never taken over. Those of an earlier cluster of
 * the name that is being deleted disappear without help. Checked before anything is created; a name taken later blocks
 * only the rule that needs it.
 */
export const nameTaken: ClusterRule = {
  name: "name-taken",
  decide(snapshot) {
    if (identityOf(snapshot) !== undefined) return undefined;
    const foreign = ours(snapshot).find((object) => !isOwned(snapshot, object));
    if (foreign === undefined) return undefined;
    const because = orphansText(snapshot) ?? `${takenText(foreign)} or choose another name`;
    return wait(because, 2_000, { warn: true });
  },
};

/**
 * What is left of an EtcdCluster that was deleted with --cascade=orphan, and the one command that removes it. Members
 * and Services must be deleted together, as they would have been with the EtcdCluster. Undefined without such
 * EtcdPeers.
 */
function orphansText(snapshot: ClusterSnapshot): string | undefined {
  const { namespace, name } = snapshot.cluster.metadata;
  const selector = clusterSelector(name);
  const isOrphan = (object: KubeObject) =>
    controllerOf(object) === undefined &&
    object.metadata.deletionTimestamp === undefined &&
    Object.entries(selector).every(([key, value]) => object.metadata.labels?.[key] === value);
  if (!snapshot.foreignPeers.some(isOrphan)) return undefined;
  const names = ours(snapshot)
    .filter(isOrphan)
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .join(", ");
  return `An earlier EtcdCluster of this name was deleted without its objects (--cascade=orphan): ${names} have no owner, and are not taken over. Its members run until these are deleted, and their claims stay. Do not delete them one by one. Delete all of them at once: kubectl delete ${ORPHANED} -n ${namespace} -l ${selectorText(selector)}. The members then come back from their claims with their data; clients are not served until then`;
}

/** The kinds that an EtcdCluster owns. Claims are not among them. */
const ORPHANED = "etcdpeers,services,poddisruptionbudgets,networkpolicies,secrets,configmaps";

function ours(snapshot: ClusterSnapshot): readonly KubeObject[] {
  const singles: readonly (KubeObject | undefined)[] = [
    snapshot.headlessService,
    snapshot.clientService,
    snapshot.budget,
  ];
  return [...singles.filter((object) => object !== undefined), ...snapshot.foreignPeers];
}
