import { clusterIdOf, hindranceOf, isGone } from "#access/place.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import type { Observed } from "#base/observed.ts";

// Which object does a name in etcd belong to?
//   etcd does not know. The object's status records it together with the cluster ID. A recreated or restored
//   EtcdCluster of the same name is
//   another etcd, where the name was not created by this object.

/** The relation between an object and its name in etcd. */
export interface Claim {
  readonly kind: "EtcdRole" | "EtcdUser";
  readonly object: EtcdRole | EtcdUser;
  /** The name in etcd. */
  readonly name: string;
  readonly finalizer: string;
  readonly cluster: EtcdCluster | undefined;
  /** The older object of the same kind with this name, if there is one. */
  readonly elder: string | undefined;
  /** What etcd has under this name. */
  readonly found: Observed<unknown>;
}

/** Whether the name belongs to this object, by its status. */
export function isClaimed({
  object: { status = {} },
  name,
  cluster,
}: Pick<Claim, "object" | "name" | "cluster">): boolean {
  const recorded = "roleName" in status ? status.roleName : "userName" in status ? status.userName : undefined;
  return recorded === name && status.clusterID === clusterIdOf(cluster);
}

/**
 * Whether a cached absence of the name is good enough. For an unclaimed name it is not: it may have been created by
 * others since then.
 */
export function absenceFor(claim: Pick<Claim, "object" | "name" | "cluster">): "known" | "asked" {
  return isClaimed(claim) ? "known" : "asked";
}

export function isDeleting({ object }: Pick<Claim, "object">): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

export function isHeld({ object, finalizer }: Pick<Claim, "object" | "finalizer">): boolean {
  return object.metadata.finalizers?.includes(finalizer) === true;
}

/** Why the name is taken, as a message; undefined when it is free. */
export function whyTaken(claim: Claim): string | undefined {
  const { kind, object, name, elder, found } = claim;
  const what = wordOf(kind);
  if (elder !== undefined) return `${what} ${name} belongs to ${kind} ${elder}, which is older`;
  if (found.is !== "present" || isClaimed(claim) || object.spec.takeOver) return undefined;
  return `${what} ${name} is in etcd already, and this ${kind} has not created it; set spec.takeOver to true to take it over`;
}

/** Why a deleted object leaves etcd unchanged, as a message; undefined when it has to clean up. */
export function whyLeft(claim: Claim): string | undefined {
  const { kind, object, cluster, elder } = claim;
  if (isGone(cluster)) return "its EtcdCluster does not exist or is being deleted";
  if (elder !== undefined) return `the ${wordOf(kind)} belongs to ${kind} ${elder}`;
  // A recreated EtcdCluster may come back with the old data, and with what this object created there.
  const isToBeSeen = clusterIdOf(cluster) === "" && object.status?.clusterID !== undefined;
  return isClaimed(claim) || isToBeSeen ? undefined : `it has created no ${wordOf(kind)} there`;
}

// Reasons of the guards of EtcdRole and EtcdUser; undefined when the step is permitted.

/** Rejects a change of a name that does not belong to the object. */
export function notOwn(claim: Claim): string | undefined {
  const { kind, elder } = claim;
  const what = wordOf(kind);
  if (elder !== undefined) return `the ${what} belongs to ${kind} ${elder}`;
  return isClaimed(claim) ? undefined : `its status does not claim the ${what}`;
}

/** Rejects claiming a name that others have created. */
export function unaskedClaim({ kind, object, elder, found }: Claim): string | undefined {
  if (elder !== undefined) return `the ${wordOf(kind)} belongs to ${kind} ${elder}`;
  if (found.is === "absent" || (found.is === "present" && object.spec.takeOver)) return undefined;
  return `the ${wordOf(kind)} may have been created by others`;
}

/** Rejects creations for an object that is being deleted or has no finalizer. */
export function notHeld(claim: Claim, isHolding: boolean): string | undefined {
  if (isDeleting(claim)) return `the ${claim.kind} is being deleted`;
  return isHolding || isHeld(claim) ? undefined : `the ${claim.kind} has no finalizer yet`;
}

/** Rejects cleanup for an object that is not being deleted. */
export function notDeleted(claim: Claim): string | undefined {
  return isDeleting(claim) ? undefined : `the ${claim.kind} is not being deleted`;
}

/** Rejects changes while the EtcdCluster is not available for them. */
export function notReady({ object, cluster }: Claim): string | undefined {
  return hindranceOf(object.spec.clusterRef.name, cluster)?.because;
}

function wordOf(kind: Claim["kind"]): string {
  return kind === "EtcdRole" ? "role" : "user";
}
