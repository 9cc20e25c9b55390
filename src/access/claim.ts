import { clusterIdOf, hindranceOf, isGone } from "#access/place.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import type { Observed } from "#base/observed.ts";

// Whose is a name in etcd?
//   etcd does not know. That it is an object's is on the object's record (`status`), with the cluster ID of the etcd: where an EtcdCluster was
//   made again under its name, or restored, that is another etcd, and what has the name there was made by somebody else.

/** What an object and its name in etcd have to do with each other. */
export interface Claim {
  readonly kind: "EtcdRole" | "EtcdUser";
  readonly object: EtcdRole | EtcdUser;
  /** In etcd. */
  readonly name: string;
  readonly finalizer: string;
  readonly cluster: EtcdCluster | undefined;
  /** The object of the same kind that has the name, when it is another one. */
  readonly elder: string | undefined;
  /** What etcd has under the name. */
  readonly found: Observed<unknown>;
}

/** Whether what has the name in etcd is this object's, by its own record. */
export function isClaimed({
  object: { status = {} },
  name,
  cluster,
}: Pick<Claim, "object" | "name" | "cluster">): boolean {
  const recorded = "roleName" in status ? status.roleName : "userName" in status ? status.userName : undefined;
  return recorded === name && status.clusterID === clusterIdOf(cluster);
}

/**
 * How it is asked whether etcd has the name: what was seen not to be there some time ago may have been made by a person since, and would be taken
 * from them.
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

/** Why nothing may be made under the name, for people; undefined when it may. */
export function whyTaken(claim: Claim): string | undefined {
  const { kind, object, name, elder, found } = claim;
  const what = wordOf(kind);
  if (elder !== undefined) return `${what} ${name} is ${kind} ${elder}'s, which is older`;
  if (found.is !== "present" || isClaimed(claim) || object.spec.takeOver) return undefined;
  return `${what} ${name} is in etcd already, and this ${kind} has not made it there; with spec.takeOver: true it becomes this one's`;
}

/** Why an object that is being deleted leaves in etcd what is there, for people; undefined when it does not. */
export function whyLeft(claim: Claim): string | undefined {
  const { kind, object, cluster, elder } = claim;
  if (isGone(cluster)) return "its EtcdCluster is gone, or about to be";
  if (elder !== undefined) return `the ${wordOf(kind)} is ${kind} ${elder}'s`;
  // An EtcdCluster that is made again may come back with the data of the one before, and with what was made there.
  const isToBeSeen = clusterIdOf(cluster) === "" && object.status?.clusterID !== undefined;
  return isClaimed(claim) || isToBeSeen ? undefined : `it has made no ${wordOf(kind)} there`;
}

// What guards of both kinds forbid, and why; undefined when they do not.

/** Changing in etcd what is not this object's. */
export function notOwn(claim: Claim): string | undefined {
  const { kind, elder } = claim;
  const what = wordOf(kind);
  if (elder !== undefined) return `the ${what} is ${kind} ${elder}'s`;
  return isClaimed(claim) ? undefined : `it is not on record that the ${what} is this object's`;
}

/** Recording that what somebody else has made is this object's. */
export function unaskedClaim({ kind, object, elder, found }: Claim): string | undefined {
  if (elder !== undefined) return `the ${wordOf(kind)} is ${kind} ${elder}'s`;
  if (found.is === "absent" || (found.is === "present" && object.spec.takeOver)) return undefined;
  return `the ${wordOf(kind)} may be somebody else's`;
}

/** Making anything for an object that is going, or would go without taking it back. */
export function notHeld(claim: Claim, isHolding: boolean): string | undefined {
  if (isDeleting(claim)) return `the ${claim.kind} is being deleted`;
  return isHolding || isHeld(claim) ? undefined : `the ${claim.kind} has no finalizer yet`;
}

/** Taking back what nobody has deleted. */
export function notDeleted(claim: Claim): string | undefined {
  return isDeleting(claim) ? undefined : `nobody has deleted the ${claim.kind}`;
}

/** Changing an etcd that is to be left alone. */
export function notReady({ object, cluster }: Claim): string | undefined {
  return hindranceOf(object.spec.clusterName, cluster)?.because;
}

function wordOf(kind: Claim["kind"]): string {
  return kind === "EtcdRole" ? "role" : "user";
}
