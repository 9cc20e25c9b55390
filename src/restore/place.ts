import { RESTORED_FROM } from "#api/names.ts";
import { controllerOf } from "#kube/kinds.ts";
import { askingCluster, hasBegun, isComplete, isOurs, isOwned, type RestoreSnapshot } from "#restore/snapshot.ts";
import type { Lack } from "#restore/source.ts";

// Where may a snapshot be restored to?
//   Only where nothing is. An EtcdCluster that is there may have data, and so may a claim that this very EtcdRestore has not made. An
//   EtcdRestore that is made again under its name has another uid, so what it made the first time is somebody else's to it. And the
//   cluster that it has made is a cluster as any other one: what that loses is not made anew.

/** Why the name is not free, or was taken meanwhile; `undefined` when nobody is in the way. */
export function lackOfPlace(snapshot: RestoreSnapshot): Lack | undefined {
  return lackOfCluster(snapshot) ?? lackOfClaims(snapshot) ?? lackOfJobs(snapshot);
}

/**
 * Why the EtcdCluster of that name is not this restore's; `undefined` when it is, or there is none. The one that asks for the restore by its
 * own spec is there before its data is. Once the data is complete, whoever makes one makes it of these claims: it takes no others.
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
    const message = `EtcdCluster ${name} has begun with the claims of this restore, and none of them is there any more`;
    return { reason: "ClaimLost", message, isFinal: true };
  }
  const what = clusterID === undefined ? "which is being made" : `which is etcd cluster ${clusterID}`;
  const message = `EtcdCluster ${name} exists already, ${what}; choose another spec.clusterTemplate.clusterName`;
  return { reason: "ClusterExists", message, isFinal: true };
}

function lackOfClaims(snapshot: RestoreSnapshot): Lack | undefined {
  const { members, otherClaims } = snapshot;
  const taken = members.flatMap(({ claim }) => (claim === undefined || isOurs(snapshot, claim) ? [] : [claim]));
  const there = [...taken, ...otherClaims];
  const claim = there.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? there[0];
  if (claim === undefined) return undefined;
  // Somebody is making room.
  if (claim.metadata.deletionTimestamp !== undefined)
    return { reason: "ClaimExists", message: `claim ${claim.metadata.name} is being deleted; a pod may still use it` };
  const from = claim.metadata.labels?.[RESTORED_FROM];
  const whose = from === undefined ? "" : `, made by the EtcdRestore with uid ${from}`;
  const message = `claim ${claim.metadata.name} exists already${whose}, and is never overwritten; choose another spec.clusterTemplate.clusterName, or delete the claims of that cluster if nobody needs their data`;
  return { reason: "ClaimExists", message, isFinal: true };
}

function lackOfJobs(snapshot: RestoreSnapshot): Lack | undefined {
  const job = snapshot.members
    .map(({ filling }) => filling?.job)
    .find((each) => each !== undefined && !isOwned(snapshot, each));
  if (job === undefined) return undefined;
  const owner = controllerOf(job);
  const whose = owner === undefined ? "nobody manages it" : `${owner.kind} ${owner.name} (uid ${owner.uid}) manages it`;
  return { reason: "NameTaken", message: `Job ${job.metadata.name} exists already: ${whose}` };
}
