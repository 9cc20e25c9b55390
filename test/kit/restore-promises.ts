import { CLAIM_CLUSTER_ID_ANNOTATION, RESTORED_FROM } from "#api/names.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import { controllerOf, JOBS, type PersistentVolumeClaim } from "#kube/kinds.ts";
import { memberNames, restoredIdentity } from "#restore/identity.ts";
import type { ApiWrite, Live } from "./fallible-api.ts";
import { CLAIMS, CLUSTERS, RESTORES, type RestoreWorld } from "./restore-world.ts";

/** What a write of the room of restores should not have been, in sentences. */
export function wrongWrite(world: RestoreWorld, write: ApiWrite): readonly string[] {
  const { restore } = world;
  const { verb, plural, name, before, after } = write;
  const what = `${verb} ${plural} ${name}`;
  if (plural === RESTORES) return wrongPhase(world, write);
  // What was made for an EtcdRestore that went in this moment, goes with it.
  if (restore === undefined)
    return plural === JOBS.plural && verb === "delete" ? [] : [`${what}, and the EtcdRestore is gone`];
  if (plural === CLAIMS) return wrongOfClaim(world, restore, write).map((why) => `${what}: ${why}`);
  if (plural === JOBS.plural && verb === "delete")
    return controllerOf(before!)?.uid === restore.metadata.uid ? [] : [`${what}: it is somebody else's`];
  if (plural === CLUSTERS) return wholeClaims(world, restore) ? [] : [`${what}: not all claims are filled`];
  return after === undefined ? [what] : [];
}

function wrongOfClaim(
  { taken, filled, claims, cluster }: RestoreWorld,
  restore: EtcdRestore,
  { verb, before, after }: ApiWrite,
): readonly string[] {
  if (verb === "create") return isHeld(restore) ? [] : ["nothing would delete it"];
  const claim = before!;
  const { uid } = restore.metadata;
  if (claim.metadata.labels?.[RESTORED_FROM] !== uid) return ["it is somebody else's"];
  const takenBy = taken.get(claim.metadata.uid);
  // Of a cluster that has come and gone while the operator saw neither, nothing is left to be seen but what the claim said of it: to say that again is true.
  const isGone = takenBy !== cluster?.status?.identity?.clusterID;
  const isSaidAgain = after?.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] === takenBy;
  if (takenBy !== undefined && !(isGone && isSaidAgain)) return ["a cluster has taken it"];
  if (verb === "delete") return isTold(claim) ? ["it holds data"] : [];
  const own = claims.filter(({ metadata }) => metadata.labels?.[RESTORED_FROM] === uid);
  const isFirst = !own.some((each) => each.metadata.uid !== claim.metadata.uid && isTold(each as Live));
  const areFilled = own.every((each) => filled.get(each.metadata.uid) === uid);
  if (isFirst && !areFilled) return ["it is told, and not all claims are filled"];
  return isTold(after!) && filled.get(claim.metadata.uid) === uid ? [] : ["it is told, and is not filled"];
}

function isTold({ metadata }: Live): boolean {
  return metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] !== undefined;
}

function isHeld({ metadata }: EtcdRestore): boolean {
  return (metadata.finalizers ?? []).length > 0;
}

/** What they say may have changed in this moment, and is said again. */
function wholeClaims(world: RestoreWorld, restore: EtcdRestore): boolean {
  return memberNames(restore).every((name) => {
    const claim = world.find<PersistentVolumeClaim>(CLAIMS, name);
    return claim === undefined || world.filled.get(claim.metadata.uid) === restore.metadata.uid;
  });
}

/** It is completed only when the cluster was Ready with the data of the snapshot; it fails by what is so; and what has ended has. */
function wrongPhase(world: RestoreWorld, { verb, before, after }: ApiWrite): readonly string[] {
  const { served } = world;
  const [was, is] = [before, after].map((each) => (each as unknown as EtcdRestore | undefined)?.status?.phase);
  if (was === "Completed" || was === "Failed")
    return was === is || is === undefined ? [] : [`${verb}: ${was} is ${is} now`];
  if (is === "Failed") return wrongFailure(world, after as unknown as EtcdRestore);
  if (is !== "Completed" || after === undefined) return [];
  const { clusterID } = restoredIdentity(after as unknown as EtcdRestore);
  return served.has(clusterID) ? [] : ["it is completed, and its cluster has never been Ready"];
}

/** Who is in the way was there when it was looked for, and who is lost was lost: Failed is for ever. */
function wrongFailure(world: RestoreWorld, restore: EtcdRestore): readonly string[] {
  const { reason, message } = restore.status?.conditions?.find(({ type }) => type === "Failed") ?? {};
  const isTrue =
    (reason !== "ClusterExists" || world.allOfLook(CLUSTERS).length > 0) &&
    (reason !== "ClaimExists" ||
      world.allOfLook<PersistentVolumeClaim>(CLAIMS).some((claim) => !isOf(restore, claim))) &&
    (reason !== "ClaimLost" || areLost(world, restore));
  return isTrue ? [] : [`it has failed, and that is not so: ${reason}: ${message}`];
}

function isOf({ metadata: { uid } }: EtcdRestore, { metadata }: PersistentVolumeClaim): boolean {
  return metadata.labels?.[RESTORED_FROM] === uid;
}

/** Whether one of its claims is not there to stay, or none of them says any more whose data it holds. */
function areLost(world: RestoreWorld, restore: EtcdRestore): boolean {
  const claims = memberNames(restore).map((name) => world.find<PersistentVolumeClaim>(CLAIMS, name));
  const isLost = (claim: PersistentVolumeClaim | undefined) =>
    claim === undefined || claim.metadata.deletionTimestamp !== undefined || !isOf(restore, claim);
  return claims.some(isLost) || !claims.some((claim) => isTold(claim as Live));
}

/** What is not as promised when nothing more happens, in sentences. */
export function wrongEnd(world: RestoreWorld): readonly string[] {
  const { restore, claims } = world;
  const phase = restore?.status?.phase;
  const untold = claims.filter(
    (claim) => claim.metadata.labels?.[RESTORED_FROM] !== undefined && !isTold(claim as Live),
  );
  const isOver = restore === undefined || phase === "Failed" || phase === "Completed";
  const left = isOver ? untold.filter(({ metadata }) => !world.taken.has(metadata.uid)) : [];
  const jobs = isOver ? world.all(JOBS.plural).filter((job) => controllerOf(job)?.kind === "EtcdRestore") : [];
  const said = restore?.status?.conditions?.find(({ type }) => type === "Complete");
  // For a cluster that a person has to help it waits for ever.
  const isStuck = !isOver && said?.reason !== "StartingCluster";
  return [
    ...(isStuck ? [`it is waited for ever: ${said?.reason}: ${said?.message}`] : []),
    ...left.map(({ metadata }) => `claim ${metadata.name} is left behind, and holds nobody's data`),
    ...jobs.map(({ metadata }) => `Job ${metadata.name} is left behind`),
    ...(isOver && isHeld(restore ?? ({ metadata: {} } as EtcdRestore)) ? ["the EtcdRestore is still held"] : []),
    ...(restore?.metadata.deletionTimestamp === undefined ? [] : ["the EtcdRestore does not go"]),
  ];
}
