import { RESTORED_FROM } from "#api/names.ts";
import { controllerText } from "#kube/kinds.ts";
import { askingCluster, hasBegun, isComplete, isOurs, isOwned, type RestoreSnapshot } from "#restore/snapshot.ts";
import type { Lack } from "#restore/source.ts";

// Where may a snapshot be restored to?
//   Only to a name that is free. An existing EtcdCluster may have data, and so may a claim that this EtcdRestore has
//   not created. An EtcdRestore created again under the same name has another uid, so the claims of the first count as
//   foreign. The cluster is an ordinary cluster afterwards: data that it loses is not restored again.

/** Why the name is not free; `undefined` when it is. */
export function lackOfPlace(snapshot: RestoreSnapshot): Lack | undefined {
  return lackOfCluster(snapshot) ?? lackOfClaims(snapshot) ?? lackOfJobs(snapshot);
}

/**
 * Why the EtcdCluster of that name is not this restore's; `undefined` when it is, or does not exist. A cluster with
 * `spec.restore` exists before its data. Once the data is complete, any cluster created under the name adopts these
 * claims.
 */
export function lackOfCluster(snapshot: RestoreSnapshot): Lack | undefined {
  const { cluster } = snapshot;
  if (cluster === undefined) return undefined;
  const { name, uid } = cluster.metadata;
  const clusterID = cluster.status?.identity?.clusterID;
  const isExpected = isComplete(snapshot)
    ? clusterID === undefined || hasBegun(snapshot)
    : clusterID === undefined && uid === askingCluster(snapshot);
  if (isExpected) return undefined;
  if (hasBegun(snapshot)) {
    const message = `EtcdCluster ${name} began with the claims of this restore, and all of these claims are gone`;
    return { reason: "ClaimLost", message, isFinal: true };
  }
  const what = clusterID === undefined ? "which is being created" : `which is etcd cluster ${clusterID}`;
  const message = `EtcdCluster ${name} exists already, ${what}; choose another spec.clusterTemplate.clusterName`;
  return { reason: "ClusterExists", message, isFinal: true };
}

function lackOfClaims(snapshot: RestoreSnapshot): Lack | undefined {
  const { members, otherClaims } = snapshot;
  const taken = members.flatMap(({ claim }) => (claim === undefined || isOurs(snapshot, claim) ? [] : [claim]));
  const there = [...taken, ...otherClaims];
  const claim = there.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? there[0];
  if (claim === undefined) return undefined;
  // A claim that is being deleted makes way: wait for it.
  if (claim.metadata.deletionTimestamp !== undefined)
    return { reason: "ClaimExists", message: `claim ${claim.metadata.name} is being deleted; a pod may still use it` };
  const from = claim.metadata.labels?.[RESTORED_FROM];
  const origin = from === undefined ? "" : `, created by the EtcdRestore with uid ${from}`;
  const message = `claim ${claim.metadata.name} exists already${origin}, and is never overwritten; choose another spec.clusterTemplate.clusterName, or delete that cluster's claims if their data is not needed`;
  return { reason: "ClaimExists", message, isFinal: true };
}

function lackOfJobs(snapshot: RestoreSnapshot): Lack | undefined {
  const job = snapshot.members
    .map(({ filling }) => filling?.job)
    .find((each) => each !== undefined && !isOwned(snapshot, each));
  if (job === undefined) return undefined;
  return { reason: "NameTaken", message: `Job ${job.metadata.name} exists already: ${controllerText(job)}` };
}
