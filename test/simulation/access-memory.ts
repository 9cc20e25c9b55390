import { OPERATOR, ROOT } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_ROLES } from "#api/v1beta1/role.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import { hexOf } from "#etcd/types.ts";
import type { AuthChange } from "#kit/world/auth.ts";
import type { World, WorldEvent } from "#kit/world/world.ts";
import type { KubeObject } from "#kube/kinds.ts";

/** Subject of an auth change, such as "user one"; undefined for enabling or disabling auth. */
export function subjectOf(change: AuthChange): string | undefined {
  if ("user" in change) return `user ${change.user}`;
  return "role" in change ? `role ${change.role}` : undefined;
}

/**
 * How long after an edit the operator may still follow the previous version, in milliseconds: its watch may be dead,
 * and its call in transit. If this is too small, the simulation reports false defects. If it is too large, outdated
 * grants are not noticed.
 */
const LATELY_MS = 120_000;

function versionOf({ metadata }: KubeObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}

/** Ownership of etcd's users and roles. */
export class AccessMemory {
  /** Step in which a person made the user or role while no object had it on record, by cluster ID and subject. */
  readonly #peoples = new Map<string, number>();
  /** Step in which a person last made a user or role of the name, whatever its current owner. */
  readonly #madeByHand = new Map<string, number>();

  /** World time at which a version of an object was replaced or deleted, by uid and version. */
  readonly #overAtMs = new Map<string, number>();

  note(event: WorldEvent, world: World): void {
    if (event.is === "write" && (event.resource === ETCD_USERS || event.resource === ETCD_ROLES) && event.before)
      this.#overAtMs.set(versionOf(event.before), world.time.nowMs);
    if (event.is === "usersChanged") this.#noteChange(event, world);
    // The object owns it after the claim. The invariant checks whether the claim is allowed when the step is made.
    if (event.is === "actsOnAccess" && (event.step.do === "claimUser" || event.step.do === "claimRole")) {
      const { do: what, name, clusterID } = event.step;
      this.#peoples.delete(`${clusterID} ${what === "claimUser" ? "user" : "role"} ${name}`);
    }
  }

  /** Whether the object has this version or had it recently: the operator may not have received the newer one yet. */
  isRecentVersion(object: KubeObject, nowMs: number): boolean {
    const overAtMs = this.#overAtMs.get(versionOf(object));
    return overAtMs === undefined || nowMs - overAtMs < LATELY_MS;
  }

  #noteChange({ by, change, clusterId }: Extract<WorldEvent, { is: "usersChanged" }>, world: World): void {
    const subject = subjectOf(change);
    if (subject === undefined) return;
    const key = `${hexOf(clusterId)} ${subject}`;
    const isMade = change.do === "userAdd" || change.do === "roleAdd";
    if (change.do === "userDelete" || change.do === "roleDelete") this.#peoples.delete(key);
    if (by !== "person" || !isMade) return;
    this.#madeByHand.set(key, world.step);
    if (!isOnRecord(world, hexOf(clusterId), subject)) this.#peoples.set(key, world.step);
  }

  /** Step since which a person owns the user or role in etcd; undefined when an object owns it, or no one. */
  ownedByPersonSince(clusterID: string, subject: string): number | undefined {
    if (subject === `user ${OPERATOR}` || subject === `user ${ROOT}`) return undefined;
    return this.#peoples.get(`${clusterID} ${subject}`);
  }

  isMadeByHand({ status }: EtcdCluster, subject: string): boolean {
    return this.#madeByHand.has(`${status?.identity?.clusterID} ${subject}`);
  }
}

function isOnRecord({ api }: World, clusterID: string, subject: string): boolean {
  const has = (status: { clusterID?: string | undefined } | undefined) => status?.clusterID === clusterID;
  return (
    api.list(ETCD_USERS).some(({ status }) => has(status) && subject === `user ${status?.userName}`) ||
    api.list(ETCD_ROLES).some(({ status }) => has(status) && subject === `role ${status?.roleName}`)
  );
}
