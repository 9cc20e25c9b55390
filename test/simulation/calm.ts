import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_ROLES } from "#api/v1beta1/role.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import { REACHED_MS } from "#cluster-tls/check/trusted.ts";
import { NO_CALL_FAULTS } from "#kit/world/calls.ts";
import { MEMBER_TIMEOUT_MS, REPLACE_AFTER_MS } from "#kit/world/operator.ts";
import type { World } from "#kit/world/world.ts";
import { PODS, SECRETS } from "#kube/kinds.ts";
import { settle } from "./ambient.ts";
import { areUsersUnfinished } from "./auth-invariants.ts";
import { happen, kubernetesStep, REFUSABLE } from "./happenings.ts";
import { isHindered } from "./impediments.ts";
import { Memory } from "./memory.ts";
import type { Profile } from "./profile.ts";
import { isBeingCertified } from "./tls-invariants.ts";

/** How long nothing is written before the world counts as settled: longer than the operator's longest backoff, 30 s. */
const QUIET_MS = 40_000;
/** Limit of `QUIET_MS` in a large fleet: longer than the time between two observations of a cluster at rest. */
const QUIET_IN_FLEET_MS = 65_000;
/** The limit after faults: longer than a member may take to come up, and then to be given up as lost. */
export const SETTLED_MS = MEMBER_TIMEOUT_MS + REPLACE_AFTER_MS + 5_000;
/**
 * Longer than the ten minutes after which a learner is given up: only then is its outcome certain. Every Secret has
 * been reread in this time, too.
 */
const GIVE_UP_MS = 11 * 60_000;
// With TLS no member is given up before all members had time to receive the last write to a Secret.

/** Time in which everything must come to rest: several times the longest waits in a row. */
const PATIENCE_MS = 60 * 60_000;
/** Time to wait while an obstacle remains: a member may be tried repeatedly, which shows by then and need not end. */
const HINDERED_PATIENCE_MS = 25 * 60_000;
/**
 * Bounds of passes that time does not bound: passes that follow one another at once, and a wait that rechecks ten times
 * a second.
 */
const MOST_PASSES = 3_000;
const MOST_PASSES_PER_SECOND = 15;

/** How long it takes until everything that can happen has happened once. */
const TURN_MS = 20;

/** Ends all faults, except the obstacle of the profile. */
export function heal(world: World, profile: Profile): void {
  world.tell("faults stop");
  const { calls, etcd, kubelets, people, watches } = world;
  calls.faults = NO_CALL_FAULTS;
  for (const stream of watches.streams) stream.isMute = false;
  world.api.admission.clear();
  for (const process of etcd.processes.values()) {
    process.isHidden = false;
    etcd.cutOff(process, false);
  }
  kubelets.illAgents.clear();
  for (const node of kubelets.nodes) [node.isUp, node.cutSinceMs] = [true, undefined];
  if (world.operator !== undefined && !world.operator.isLeading) world.crashOperator();
  if (world.operator === undefined) world.startOperator();
  if (profile.isTidied) {
    people.tidy();
    for (const cluster of etcd.truth.all()) {
      cluster.alarms.delete(undefined); // A person has found the right data,
      cluster.full.clear(); // and freed space.
    }
  } else people.letOperatorRestart();
  keepWrong(world, profile);
}

function keepWrong(world: World, { obstacle }: Profile): void {
  const { kubelets, random, etcd, api } = world;
  switch (obstacle) {
    case "none":
      return;
    case "nodeStaysDown": {
      const node = random.pick(kubelets.nodes);
      if (node !== undefined) kubelets.nodeDown(node);
      return;
    }
    case "noVolume":
      kubelets.isOutOfVolumes = true;
      return;
    case "membersStayHidden":
      for (const process of etcd.processes.values()) process.isHidden = true;
      return;
    case "diskEmptied":
      happen(world, "emptyDisk");
      return;
    case "podsRefused":
      api.admission.set(PODS.plural, random.pick(REFUSALS) ?? "denied");
      return;
    case "writesRefused":
      api.admission.set(random.pick(REFUSABLE)?.plural ?? "", random.pick(REFUSALS) ?? "denied");
      return;
  }
  obstacle satisfies never;
}

const REFUSALS = ["quotaExceeded", "denied"] as const;

/** Lets everything happen that can, until nothing is written any more. @returns why the world never rests */
export async function calmDown(
  world: World,
  next: () => void,
  memory = new Memory(),
  quietMs = QUIET_MS,
): Promise<string | undefined> {
  const { time } = world;
  const [startedAtMs, passesBefore] = [time.nowMs, world.operator?.passes ?? 0];
  let [quietSinceMs, version] = [time.nowMs, world.api.version];
  for (;;) {
    await settle();
    next();
    if (world.api.version !== version) [quietSinceMs, version] = [time.nowMs, world.api.version];
    if (time.nowMs - startedAtMs > HINDERED_PATIENCE_MS && isHindered(world)) {
      memory.excuses.add("restless");
      return undefined;
    }
    if (time.nowMs - startedAtMs > PATIENCE_MS)
      return `something is still written after ${PATIENCE_MS / 60_000} minutes`;
    const passes = (world.operator?.passes ?? 0) - passesBefore;
    const most = MOST_PASSES + (MOST_PASSES_PER_SECOND * (time.nowMs - startedAtMs)) / 1_000;
    if (passes > most) return `${passes} passes without rest`;
    if (everythingHappens(world)) {
      time.runNext(time.nowMs + TURN_MS);
      continue;
    }
    const isSecured = world.api.list(SECRETS).length > 0;
    const aloneMs = Math.max(quietMs, world.othersAtRest > 0 ? QUIET_IN_FLEET_MS : 0);
    const restMs = isSecured ? aloneMs + REACHED_MS : aloneMs;
    const enoughMs =
      isAnyMemberJoining(world) || isBeingCertified(world) || areUsersUnfinished(world) || hasAccess(world)
        ? GIVE_UP_MS
        : restMs;
    if (time.nowMs - quietSinceMs >= enoughMs) return undefined;
    time.runNext(quietSinceMs + enoughMs);
  }
}

function isAnyMemberJoining(world: World): boolean {
  const clusters = world.api
    .list(ETCD_CLUSTERS)
    .map(({ status }) => world.etcd.truth.named(status?.identity?.clusterID));
  return clusters.some((cluster) =>
    [...(cluster?.members.values() ?? [])].some(({ isLearner, name }) => isLearner || name === ""),
  );
}

/**
 * Whether there are EtcdRoles or EtcdUsers. Differences in etcd are noticed only at the next read, which is rare:
 * src/access/reads.ts.
 */
function hasAccess({ api }: World): boolean {
  return api.list(ETCD_ROLES).length + api.list(ETCD_USERS).length > 0;
}

/** @returns whether anything happened */
export function everythingHappens(world: World): boolean {
  const { watches, calls, kubelets, etcd } = world;
  let some = false;
  for (const stream of watches.streams) {
    if (stream.behind === 0 || stream.isMute) continue;
    stream.deliver(stream.behind);
    some = true;
  }
  some = calls.finish() || some;
  while (kubernetesStep(world) || kubelets.evict()) some = true;
  some = etcd.noticeLeaders() || some;
  for (const process of [...etcd.processes.values()]) {
    if (process.leaderId === undefined) some = etcd.elect(process) || some;
    if (etcd.leaderOf(process) === process) some = etcd.replicate(process) || some;
    some = etcd.publish(process) || some;
  }
  world.happened({ is: "step" }); // The state before the operator's next observation.
  return some;
}
