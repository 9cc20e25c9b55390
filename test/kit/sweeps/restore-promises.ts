import { CLAIM_CLUSTER_ID_ANNOTATION, RESTORED_FROM } from "#api/names.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { ApiWrite, Live } from "#kit/servers/fallible-api.ts";
import { controllerOf, JOBS, type PersistentVolumeClaim } from "#kube/kinds.ts";
import { memberNames, restoredIdentity } from "#restore/identity.ts";
import { CLAIMS, CLUSTERS, RESTORES, type RestoreWorld } from "./restore-world.ts";

/** Faults of one write of the restore controller, in sentences. */
export function wrongWrite(world: RestoreWorld, write: ApiWrite): readonly string[] {
  const { restore } = world;
  const { verb, plural, name, before, after } = write;
  const what = `${verb} ${plural} ${name}`;
  if (plural === RESTORES) return wrongPhase(world, write);
  // Objects of an EtcdRestore that is already gone may only be deleted.
  if (restore === undefined)
    return plural === JOBS.plural && verb === "delete" ? [] : [`${what}, and the EtcdRestore is gone`];
  if (plural === CLAIMS) return wrongOfClaim(world, restore, write).map((why) => `${what}: ${why}`);
  if (plural === JOBS.plural && verb === "delete")
    return controllerOf(before!)?.uid === restore.metadata.uid ? [] : [`${what}: it has another owner`];
  if (plural === CLUSTERS) return wholeClaims(world, restore) ? [] : [`${what}: not all claims are filled`];
  return after === undefined ? [what] : [];
}

function wrongOfClaim(
  { taken, filled, claims, cluster }: RestoreWorld,
  restore: EtcdRestore,
  { verb, before, after }: ApiWrite,
): readonly string[] {
  if (verb === "create") return isHeld(restore) ? [] : ["the EtcdRestore has no finalizer that would delete the claim"];
  const claim = before!;
  const { uid } = restore.metadata;
  if (claim.metadata.labels?.[RESTORED_FROM] !== uid) return ["another owner has made the claim"];
  const takenBy = taken.get(claim.metadata.uid);
  // A cluster may have come and gone unseen by the operator. Then only the claim's annotation shows it, and repeating
  // the annotation is correct.
  const isGone = takenBy !== cluster?.status?.identity?.clusterID;
  const isSaidAgain = after?.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] === takenBy;
  if (takenBy !== undefined && !(isGone && isSaidAgain)) return ["a cluster has adopted the claim"];
  if (verb === "delete") return isTold(claim) ? ["the claim holds data"] : [];
  const own = claims.filter(({ metadata }) => metadata.labels?.[RESTORED_FROM] === uid);
  const isFirst = !own.some((each) => each.metadata.uid !== claim.metadata.uid && isTold(each as Live));
  const areFilled = own.every((each) => filled.get(each.metadata.uid) === uid);
  if (isFirst && !areFilled) return ["the claim got its identity before all claims were filled"];
  return isTold(after!) && filled.get(claim.metadata.uid) === uid
    ? []
    : ["the claim got its identity before it was filled"];
}

function isTold({ metadata }: Live): boolean {
  return metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] !== undefined;
}

function isHeld({ metadata }: EtcdRestore): boolean {
  return (metadata.finalizers ?? []).length > 0;
}

/**
 * Whether all claims are filled. A claim's annotations may have been removed at this moment; they are written again.
 */
function wholeClaims(world: RestoreWorld, restore: EtcdRestore): boolean {
  return memberNames(restore).every((name) => {
    const claim = world.find<PersistentVolumeClaim>(CLAIMS, name);
    return claim === undefined || world.filled.get(claim.metadata.uid) === restore.metadata.uid;
  });
}

/**
 * Completed requires that the cluster was Ready with the snapshot's data. Failed requires a true reason. A final phase
 * never changes.
 */
function wrongPhase(world: RestoreWorld, { verb, before, after }: ApiWrite): readonly string[] {
  const { served } = world;
  const [was, is] = [before, after].map((each) => (each as unknown as EtcdRestore | undefined)?.status?.phase);
  if (was === "Completed" || was === "Failed")
    return was === is || is === undefined ? [] : [`${verb}: ${was} is ${is} now`];
  if (is === "Failed") return wrongFailure(world, after as unknown as EtcdRestore);
  if (is !== "Completed" || after === undefined) return [];
  const { clusterID } = restoredIdentity(after as unknown as EtcdRestore);
  return served.has(clusterID) ? [] : ["it is completed, but its cluster was never Ready"];
}

/** The reason must hold: a conflicting object existed at the observation, or a claim is lost. Failed is final. */
function wrongFailure(world: RestoreWorld, restore: EtcdRestore): readonly string[] {
  const { reason, message } = restore.status?.conditions?.find(({ type }) => type === "Failed") ?? {};
  const isTrue =
    (reason !== "ClusterExists" || world.allOfLook(CLUSTERS).length > 0) &&
    (reason !== "ClaimExists" ||
      world.allOfLook<PersistentVolumeClaim>(CLAIMS).some((claim) => !isOf(restore, claim))) &&
    (reason !== "ClaimLost" || areLost(world, restore));
  return isTrue ? [] : [`it has failed for a wrong reason: ${reason}: ${message}`];
}

function isOf({ metadata: { uid } }: EtcdRestore, { metadata }: PersistentVolumeClaim): boolean {
  return metadata.labels?.[RESTORED_FROM] === uid;
}

/** Whether one of its claims is lost, or no claim has an annotation about its data any more. */
function areLost(world: RestoreWorld, restore: EtcdRestore): boolean {
  const claims = memberNames(restore).map((name) => world.find<PersistentVolumeClaim>(CLAIMS, name));
  const isLost = (claim: PersistentVolumeClaim | undefined) =>
    claim === undefined || claim.metadata.deletionTimestamp !== undefined || !isOf(restore, claim);
  return claims.some(isLost) || !claims.some((claim) => isTold(claim as Live));
}

/** Faults of the final state, in sentences. */
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
  // It waits without limit for a cluster that needs a person's help.
  const isStuck = !isOver && said?.reason !== "StartingCluster";
  return [
    ...(isStuck ? [`the restore waits for ever: ${said?.reason}: ${said?.message}`] : []),
    ...left.map(({ metadata }) => `claim ${metadata.name} is left behind without data`),
    ...jobs.map(({ metadata }) => `Job ${metadata.name} is left behind`),
    ...(isOver && isHeld(restore ?? ({ metadata: {} } as EtcdRestore)) ? ["the EtcdRestore is still held"] : []),
    ...(restore?.metadata.deletionTimestamp === undefined ? [] : ["the EtcdRestore is not removed"]),
  ];
}
