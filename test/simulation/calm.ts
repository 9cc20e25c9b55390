import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_ROLES } from "#api/v1beta1/role.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import { REACHED_MS } from "#cluster/certificates/trusted.ts";
import type { World } from "#kit/world.ts";
import { NO_CALL_FAULTS } from "#kit/world-calls.ts";
import { MEMBER_TIMEOUT_MS, REPLACE_AFTER_MS } from "#kit/world-operator.ts";
import { PODS, SECRETS } from "#kube/kinds.ts";
import { settle } from "./ambient.ts";
import { areUsersUnfinished } from "./auth-invariants.ts";
import { happen, kubernetesStep, REFUSABLE } from "./happenings.ts";
import { isHindered } from "./impediments.ts";
import { Memory } from "./memory.ts";
import type { Profile } from "./profile.ts";
import { isBeingCertified } from "./tls-invariants.ts";

/** How long nothing is written before the world counts as settled: longer than the longest back-off of the operator, 30 s. */
const QUIET_MS = 40_000;
/** And in a large fleet: longer than the longest time between two looks at a cluster at rest. */
const QUIET_IN_FLEET_MS = 65_000;
/** And after all that went wrong: longer than a member has to come up, and is then lost, before it is given up. */
export const SETTLED_MS = MEMBER_TIMEOUT_MS + REPLACE_AFTER_MS + 5_000;
/**
 * A learner that does not get on is given up after ten minutes: only then is it certain what becomes of it. By then every Secret has been read
 * again, too.
 */
const GIVE_UP_MS = 11 * 60_000;
// Where members speak TLS nobody is given up before everybody had the time to get what has been written to a Secret.

/** By then everything must be at rest: a generous multiple of the longest waits in a row. */
const PATIENCE_MS = 60 * 60_000;
/** Where something stays wrong, a member may be tried again and again: that is seen by then, and needs no end. */
const HINDERED_PATIENCE_MS = 25 * 60_000;
/** A bound for what time does not bound: passes that follow one another at once, and those that a look ten times a second takes. */
const MOST_PASSES = 3_000;
const MOST_PASSES_PER_SECOND = 15;

/** How long it takes until everything that can happen has happened once. */
const TURN_MS = 20;

/** Faults stop. What the profile says stays wrong. */
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
      cluster.alarms.delete(undefined); // somebody has found out whose data is right
      cluster.full.clear(); // and has made room
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

/** Everything that can happen happens, until nothing is written any more. @returns why it never comes to rest */
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
    if (passes > most) return `${passes} passes, and no end`;
    if (everythingHappens(world)) {
      time.runNext(time.nowMs + TURN_MS);
      continue;
    }
    const isSecured = world.api.list(SECRETS).length > 0;
    const aloneMs = Math.max(quietMs, world.othersAtRest > 0 ? QUIET_IN_FLEET_MS : 0);
    const restMs = isSecured ? aloneMs + REACHED_MS : aloneMs;
    const enoughMs =
      somebodyIsJoining(world) || isBeingCertified(world) || areUsersUnfinished(world) || hasAccess(world)
        ? GIVE_UP_MS
        : restMs;
    if (time.nowMs - quietSinceMs >= enoughMs) return undefined;
    time.runNext(quietSinceMs + enoughMs);
  }
}

function somebodyIsJoining(world: World): boolean {
  const clusters = world.api
    .list(ETCD_CLUSTERS)
    .map(({ status }) => world.etcd.truth.named(status?.identity?.clusterID));
  return clusters.some((cluster) =>
    [...(cluster?.members.values() ?? [])].some(({ isLearner, name }) => isLearner || name === ""),
  );
}

/** What differs in etcd is seen only when it is asked again, which is rarely: src/access/reads.ts. */
function hasAccess({ api }: World): boolean {
  return api.list(ETCD_ROLES).length + api.list(ETCD_USERS).length > 0;
}

/** @returns whether anything did */
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
  world.happened({ is: "step" }); // what is true now, before the operator looks
  return some;
}
