import { runningRevision } from "#cluster/members/member-state.ts";
import type { Pod } from "#kube/kinds.ts";
import type { Condition } from "#runtime/conditions.ts";
import type { Invariant } from "./memory.ts";

// A status is judged by the observation that it was made from. Each statement must have been true at some moment
// between the beginning of the observation and now. Earlier events are no excuse.

export const availableIsTrue: Invariant = {
  name: "available is true",
  promise: "Available=True is never reported when a majority of voters was down throughout the observation.",
  breaks(event, _world, memory) {
    if (event.is !== "clusterStatus" || !isTrue(event.status.conditions, "Available")) return undefined;
    const lastQuorum = memory.lastQuorum.get(event.status.identity?.clusterID ?? "") ?? -1;
    if (lastQuorum >= event.lookedFrom - 1) return undefined;
    return `no majority has run since step ${lastQuorum}, and the observation began in step ${event.lookedFrom}`;
  },
};

export const readyIsTrue: Invariant = {
  name: "ready is true",
  promise:
    "Ready=True is never reported of a cluster or a member that did not run at any moment of the observation. A cluster becomes Ready only after a client was served.",
  breaks(event, _world, memory) {
    if (event.is === "peerStatus" && isTrue(event.status.conditions, "Ready")) {
      const key = `${event.status.clusterID}/${event.status.memberID}`;
      return hasRun(memory.lastRun, key, event.lookedFrom)
        ? undefined
        : `${event.snapshot.peer.metadata.name} does not run`;
    }
    if (event.is !== "clusterStatus" || !isTrue(event.status.conditions, "Ready")) return undefined;
    const { identity } = event.status;
    const members = event.status.members?.filter(({ name }) => !isForeignName(name));
    const down = members?.find(({ id }) => !hasRun(memory.lastRun, `${identity?.clusterID}/${id}`, event.lookedFrom));
    const wanted = event.snapshot.cluster.spec.replicas;
    if (members?.length !== wanted) return `${members?.length} members are reported, and spec.replicas is ${wanted}`;
    if (down !== undefined) return `${down.name} does not run`;
    const { cluster, clientService } = event.snapshot;
    // A cluster that is already Ready is not checked again.
    const wasReady = isTrue(cluster.status?.conditions, "Ready");
    const isServed = (memory.lastServed.get(clientService?.metadata.uid ?? "") ?? -1) >= event.lookedFrom;
    return wasReady || isServed ? undefined : "the client Service served no client";
  },
};

export const settledIsTrue: Invariant = {
  name: "settled is true",
  promise:
    "Settled is never reported while a member is unhealthy, a member does not match the spec, or an update is on record.",
  breaks(event) {
    if (event.is !== "clusterStatus") return undefined;
    const { conditions, members } = event.status;
    const sick = members?.find(({ health, name }) => health !== "Healthy" && !isForeignName(name));
    const isSettled = conditions?.some(({ reason }) => reason === "Settled") ?? false;
    const isGoing = event.snapshot.cluster.metadata.deletionTimestamp !== undefined;
    if (!isSettled || isGoing) return undefined;
    if (sick !== undefined) return `${sick.name} is not healthy`;
    const behind = members?.find(
      ({ name, upToDate }) => upToDate === false && isGoingOn(event.snapshot.pods.get(name)),
    );
    if (behind !== undefined) return `${behind.name} does not match the spec`;
    const { update } = event.status;
    return update === undefined ? undefined : `the update to etcd ${update.to} is on record`;
  },
};

/** Whether the pod has a revision and is not terminating. */
function isGoingOn(pod: Pod | undefined): boolean {
  return runningRevision(pod) !== undefined && pod?.metadata.deletionTimestamp === undefined;
}

/** Whether a person added the member, by its name (world-administrator.ts): the operator cannot observe it. */
function isForeignName(name: string): boolean {
  return name.startsWith("own-");
}

function hasRun(lastRun: ReadonlyMap<string, number>, key: string, from: number): boolean {
  return (lastRun.get(key) ?? -1) >= from - 1;
}

function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === "True") ?? false;
}
