import { runningRevision } from "#cluster/versions.ts";
import type { Pod } from "#kube/kinds.ts";
import type { Condition } from "#runtime/conditions.ts";
import type { Invariant } from "./memory.ts";

// Which truth must a status tell?
//   That of the look it was made from, which took a while: whatever it says must have been so at some moment between the
//   beginning of the look and now. What happened before the look is no excuse.

export const availableIsTrue: Invariant = {
  name: "available is true",
  promise: "Available=True is never said when a majority of voters was down throughout the look that it comes from.",
  breaks(event, _world, memory) {
    if (event.is !== "clusterStatus" || !isTrue(event.status.conditions, "Available")) return undefined;
    const lastQuorum = memory.lastQuorum.get(event.status.identity?.clusterID ?? "") ?? -1;
    if (lastQuorum >= event.lookedFrom - 1) return undefined;
    return `no majority has run since step ${lastQuorum}, and the look began in step ${event.lookedFrom}`;
  },
};

export const readyIsTrue: Invariant = {
  name: "ready is true",
  promise:
    "Ready=True is never said of a cluster, or a member, that did not run at any moment of the look, nor first before a client is served.",
  breaks(event, _world, memory) {
    if (event.is === "peerStatus" && isTrue(event.status.conditions, "Ready")) {
      const key = `${event.status.clusterID}/${event.status.memberID}`;
      return hasRun(memory.lastRun, key, event.lookedFrom)
        ? undefined
        : `${event.snapshot.peer.metadata.name} does not run`;
    }
    if (event.is !== "clusterStatus" || !isTrue(event.status.conditions, "Ready")) return undefined;
    const { identity } = event.status;
    const members = event.status.members?.filter(({ name }) => !isOfSomebodyElse(name));
    const down = members?.find(({ id }) => !hasRun(memory.lastRun, `${identity?.clusterID}/${id}`, event.lookedFrom));
    const wanted = event.snapshot.cluster.spec.replicas;
    if (members?.length !== wanted) return `${members?.length} members are told of, and ${wanted} are wanted`;
    if (down !== undefined) return `${down.name} does not run`;
    const { cluster, clientService } = event.snapshot;
    // Who is Ready already is not asked again.
    const wasReady = isTrue(cluster.status?.conditions, "Ready");
    const isServed = (memory.lastServed.get(clientService?.metadata.uid ?? "") ?? -1) >= event.lookedFrom;
    return wasReady || isServed ? undefined : "nobody was served through the client Service";
  },
};

export const settledIsTrue: Invariant = {
  name: "settled is true",
  promise:
    "That there is nothing to do is never said while a member is not healthy, or runs something else than the spec asks for, nor while an update is on record.",
  breaks(event) {
    if (event.is !== "clusterStatus") return undefined;
    const { conditions, members } = event.status;
    const sick = members?.find(({ healthy, name }) => !healthy && !isOfSomebodyElse(name));
    const isSettled = conditions?.some(({ reason }) => reason === "Settled") ?? false;
    const isGoing = event.snapshot.cluster.metadata.deletionTimestamp !== undefined;
    if (!isSettled || isGoing) return undefined;
    if (sick !== undefined) return `${sick.name} is not healthy`;
    const behind = members?.find(
      ({ name, upToDate }) => upToDate === false && isGoingOn(event.snapshot.pods.get(name)),
    );
    if (behind !== undefined) return `${behind.name} runs something else`;
    const { update } = event.status;
    return update === undefined ? undefined : `the update to etcd ${update.to} is on record`;
  },
};

/** Whether the pod says what it was made from, and nobody has deleted it. */
function isGoingOn(pod: Pod | undefined): boolean {
  return runningRevision(pod) !== undefined && pod?.metadata.deletionTimestamp === undefined;
}

/** By the name under which it was added (world-administrator.ts): the operator cannot ask it how it is. */
function isOfSomebodyElse(name: string): boolean {
  return name.startsWith("own-");
}

function hasRun(lastRun: ReadonlyMap<string, number>, key: string, from: number): boolean {
  return (lastRun.get(key) ?? -1) >= from - 1;
}

function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === "True") ?? false;
}
