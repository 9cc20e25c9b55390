import { OPERATOR, ROOT } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_ROLES } from "#api/v1beta1/role.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import { hexOf } from "#etcd/types.ts";
import type { World, WorldEvent } from "#kit/world.ts";
import type { AuthChange } from "#kit/world-auth.ts";
import type { KubeObject } from "#kube/kinds.ts";

/** What of etcd a change is about, as "user one"; undefined for the switch. */
export function subjectOf(change: AuthChange): string | undefined {
  if ("user" in change) return `user ${change.user}`;
  return "role" in change ? `role ${change.role}` : undefined;
}

/**
 * So long after an edit the operator may act by what was said before it, in milliseconds: its watch may be dead for a while, and its call on its way.
 * Too small: the simulation takes that for a defect. Too large: what nobody says any more is granted unseen.
 */
const LATELY_MS = 120_000;

function versionOf({ metadata }: KubeObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}

/** Whose are the users and roles of etcd? */
export class AccessMemory {
  /** Those that people have made while no object had them on record, since which step: by cluster ID and subject. */
  readonly #peoples = new Map<string, number>();
  /** When a person last made one of that name, whosever it is then. */
  readonly #madeByHand = new Map<string, number>();

  /** When another version took the place of this one, or it was deleted, in world time: by uid and version. */
  readonly #overAtMs = new Map<string, number>();

  note(event: WorldEvent, world: World): void {
    if (event.is === "write" && (event.resource === ETCD_USERS || event.resource === ETCD_ROLES) && event.before)
      this.#overAtMs.set(versionOf(event.before), world.time.nowMs);
    if (event.is === "usersChanged") this.#noteChange(event, world);
    // From then on it is the object's: whether it may be, is asked when the step is made.
    if (event.is === "actsOnAccess" && (event.step.do === "claimUser" || event.step.do === "claimRole")) {
      const { do: what, name, clusterID } = event.step;
      this.#peoples.delete(`${clusterID} ${what === "claimUser" ? "user" : "role"} ${name}`);
    }
  }

  /** Whether the object says this, or did a while ago: the operator may not have heard yet of what it says by now. */
  isSaidLately(object: KubeObject, nowMs: number): boolean {
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

  /** Since which step what has the name in etcd is somebody's who has made it by hand; undefined when it is an object's, or nobody's. */
  peoplesSince(clusterID: string, subject: string): number | undefined {
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
