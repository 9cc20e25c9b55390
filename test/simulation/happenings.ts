import { OperatorError } from "#base/error.ts";
import type { Admission } from "#kit/world/api.ts";
import { hasAgent } from "#kit/world/containers.ts";
import { PEOPLES_ACTS, type PeoplesAct } from "#kit/world/people.ts";
import type { World } from "#kit/world/world.ts";
import { PERSISTENT_VOLUME_CLAIMS, POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, SERVICES } from "#kube/kinds.ts";
import type { Happening } from "./profile.ts";

/** Lets one thing happen; false when it was not possible. All random numbers come from the world. */
export function happen(world: World, happening: Happening): boolean {
  if (isPeoplesAct(happening)) return world.people.do(happening);
  switch (happening) {
    case "deliver":
      return deliver(world);
    case "call":
      return world.calls.step();
    case "time":
      return letTimePass(world);
    case "kubernetes":
      return kubernetesStep(world);
    case "etcd":
      return etcdStep(world);
    case "crashOperator":
      if (world.operator === undefined) world.startOperator();
      else world.crashOperator();
      return true;
    case "loseLease":
      if (world.operator === undefined) return false;
      world.tell("the operator loses its lease");
      world.operator.isLeading = false; // The process ends soon after: see crashOperator.
      return true;
    case "breakWatch":
      return breakWatch(world, new OperatorError("KubeUnavailable", "the connection broke"));
    case "expireWatch":
      return breakWatch(world, new OperatorError("KubeExpired", "too old resource version"));
    case "muteWatch":
      return muteWatch(world, world.watches.streams);
    case "muteClaims":
      return muteWatch(
        world,
        world.watches.streams.filter(({ resource }) => resource === PERSISTENT_VOLUME_CLAIMS),
      );
    case "longAbsence":
      return longAbsence(world);
    case "lateSecrets":
      return lateSecrets(world);
    case "skewClock":
      return skewClock(world);
    case "killContainer":
      return killContainer(world);
    case "breakAgent":
      return breakAgent(world);
    case "nodeDown":
      return toggleNode(world);
    case "evictForWant":
      return world.kubelets.evictForWant();
    case "evict":
      return world.kubelets.evict();
    case "emptyDisk":
      return emptyDisk(world);
    case "corruptMember":
      return corruptMember(world);
    case "fillMember":
      return fillMember(world);
    case "refuseWrites":
      return refuseWrites(world);
    case "cutNode":
      return cutNode(world);
    case "evictUnheard":
      return world.kubelets.evictUnheard();
    case "hideMember":
      return hideMember(world);
    case "cutOffMember":
      return cutOffMember(world);
  }
  return happening satisfies never;
}

function isPeoplesAct(happening: Happening): happening is PeoplesAct {
  return (PEOPLES_ACTS as readonly string[]).includes(happening);
}

/** Delivers some more events to one of the operator's caches. */
function deliver(world: World): boolean {
  const { random, watches } = world;
  const stream = random.pick(watches.streams.filter(({ behind, isMute }) => behind > 0 && !isMute));
  stream?.deliver(random.chance(0.3) ? stream.behind : random.between(1, 3));
  return stream !== undefined;
}

/** Passes mostly fractions of a second, and sometimes enough for every deadline. */
function letTimePass({ random, time }: World): boolean {
  const most = random.chance(0.15) ? 30_000 : 1_500;
  time.runNext(time.nowMs + random.between(1, most));
  return true;
}

function breakWatch(world: World, error: OperatorError): boolean {
  const stream = world.random.pick(world.watches.streams);
  if (stream === undefined) return false;
  world.tell(`the watch of ${stream.resource.plural} ends: ${error.message}`);
  stream.break(error);
  return true;
}

/** One step of a Kubernetes controller or kubelet: the first that has work, from a random start. */
export function kubernetesStep({ random, kubelets, controllers }: World): boolean {
  const steps = [
    () => kubelets.noticeReplicaSet(),
    () => kubelets.syncPods(),
    () => kubelets.provision(),
    () => kubelets.schedule(),
    () => kubelets.startContainer(),
    () => kubelets.report(),
    () => kubelets.markUnheard(),
    () => kubelets.endPod(),
    () => controllers.countPods(),
    () => controllers.collectGarbage(),
    () => controllers.releaseClaim(),
  ];
  const from = random.below(steps.length);
  return [...steps.slice(from), ...steps.slice(0, from)].some((each) => each());
}

function etcdStep({ random, etcd }: World): boolean {
  const process = random.pick([...etcd.processes.values()]);
  if (process === undefined) return false;
  switch (random.pick(["elect", "notice", "write", "write", "replicate", "publish"])) {
    case "elect":
      return etcd.elect(process);
    case "notice":
      return etcd.noticeLeaders();
    case "publish":
      return etcd.publish(process);
    case "write":
      return etcd.write(etcd.leaderOf(process) ?? process);
    default:
      return etcd.replicate(etcd.leaderOf(process) ?? process);
  }
}

function muteWatch(world: World, streams: World["watches"]["streams"]): boolean {
  const stream = world.random.pick(streams);
  if (stream === undefined) return false;
  stream.isMute = !stream.isMute;
  world.tell(`the watch of ${stream.resource.plural} ${stream.isMute ? "falls silent" : "delivers again"}`);
  return true;
}

/** Sets the clock of the operator's node, or starts the operator on a node with a wrong clock. */
function skewClock(world: World): boolean {
  const { random, time } = world;
  time.skewMs = random.between(-7_200, 7_200) * 1_000;
  world.tell(`the operator's wall clock is wrong by ${time.skewMs / 1_000} s`);
  return true;
}

/** Leaves hours without an operator, and then starts one. */
function longAbsence(world: World): boolean {
  const { random, time } = world;
  const hours = random.between(1, 10);
  world.tell(`no operator runs for ${hours} h`);
  world.crashOperator();
  time.nowMs += hours * 3_600_000;
  world.startOperator();
  return true;
}

/**
 * Longer than kubelets take by default to update a Secret in running pods. With a `syncFrequency` of five minutes it
 * may take this long.
 */
const LATE_MS = 600_000;

/** Stops a node's kubelet from updating Secrets in running pods for a while. */
function lateSecrets(world: World): boolean {
  const { random, kubelets, time } = world;
  const node = random.pick(kubelets.nodes);
  if (node === undefined) return false;
  node.bringsFromMs = time.nowMs + LATE_MS;
  world.tell(`the kubelet of ${node.name} updates no Secrets in pods for ${LATE_MS / 1_000} s`);
  return true;
}

function killContainer(world: World): boolean {
  const pod = world.random.pick(world.api.list(PODS).filter(({ metadata }) => world.etcd.processes.has(metadata.uid)));
  if (pod === undefined) return false;
  world.tell(`the container of ${pod.metadata.name} dies`);
  world.kubelets.killContainer(pod);
  return true;
}

/** Breaks or repairs the sidecar of one pod. */
function breakAgent(world: World): boolean {
  const { illAgents } = world.kubelets;
  const pod = world.random.pick(world.api.list(PODS).filter(hasAgent));
  if (pod === undefined) return false;
  const { name, uid } = pod.metadata;
  world.tell(`the sidecar in ${name} is ${illAgents.has(uid) ? "healthy again" : "unhealthy"}`);
  if (!illAgents.delete(uid)) illAgents.add(uid);
  return true;
}

function toggleNode(world: World): boolean {
  const { random, kubelets } = world;
  const node = random.pick(kubelets.nodes);
  if (node === undefined) return false;
  world.tell(`${node.name} goes ${node.isUp ? "down" : "up"}`);
  if (node.isUp) kubelets.nodeDown(node);
  else node.isUp = true;
  return true;
}

function emptyDisk(world: World): boolean {
  const disk = world.random.pick([...world.kubelets.disks.values()].filter(({ data }) => data !== undefined));
  if (disk === undefined) return false;
  world.tell(`the disk of ${disk.data?.name} is emptied`);
  world.etcd.empty(disk);
  return true;
}

/** Makes etcd find that one member's data differs, so that it refuses to serve until that is resolved. */
function corruptMember(world: World): boolean {
  const process = world.random.pick([...world.etcd.processes.values()]);
  const cluster = process === undefined ? undefined : world.etcd.truth.of(process.data.clusterId);
  if (process === undefined || cluster?.members.has(process.data.memberId) !== true) return false;
  const isKnown = world.random.chance(0.75);
  world.tell(`${isKnown ? `the data of ${process.peer}` : "the data of an unknown member"} is found to be corrupt`);
  cluster.alarms.add(isKnown ? process.data.memberId : undefined);
  return true;
}

/** Resources that a quota or a policy may protect from writes. */
export const REFUSABLE = [SERVICES, POD_DISRUPTION_BUDGETS, REPLICA_SETS, PERSISTENT_VOLUME_CLAIMS, PODS] as const;

/** Sets or lifts a quota or a policy for a random resource. */
function refuseWrites(world: World): boolean {
  const { random, api } = world;
  const kind = random.pick(REFUSABLE);
  if (kind === undefined) return false;
  const admission = api.admission.has(kind.plural) ? undefined : random.pick(["quotaExceeded", "denied", "undone"]);
  if (admission === undefined) api.admission.delete(kind.plural);
  else api.admission.set(kind.plural, admission as Admission);
  world.tell(`writes of ${kind.plural}: ${admission ?? "as before"}`);
  return true;
}

/** The database of one member has reached its quota: https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota */
function fillMember(world: World): boolean {
  const process = world.random.pick([...world.etcd.processes.values()]);
  const cluster = process === undefined ? undefined : world.etcd.truth.of(process.data.clusterId);
  if (process === undefined || cluster?.members.has(process.data.memberId) !== true) return false;
  world.tell(`the database of ${process.peer} is full`);
  cluster.full.add(process.data.memberId);
  return true;
}

/**
 * Cuts a node off from the API server, or reconnects it. In half of the cases the operator cannot reach its members
 * either.
 */
function cutNode(world: World): boolean {
  const { random, kubelets, etcd, time, api } = world;
  const node = random.pick(kubelets.nodes);
  if (node === undefined) return false;
  const isCut = node.cutSinceMs === undefined;
  node.cutSinceMs = isCut ? time.nowMs : undefined;
  const alsoHides = random.chance(0.5);
  for (const pod of api.list(PODS).filter(({ spec }) => spec?.nodeName === node.name)) {
    const process = etcd.processes.get(pod.metadata.uid);
    if (process !== undefined) process.isHidden = isCut && alsoHides;
  }
  world.tell(`${node.name} is ${isCut ? "cut off from" : "connected again to"} the API server`);
  return true;
}

function hideMember(world: World): boolean {
  const process = world.random.pick([...world.etcd.processes.values()]);
  if (process === undefined) return false;
  process.isHidden = !process.isHidden;
  world.tell(`${process.peer} can ${process.isHidden ? "no longer" : "again"} be reached by the operator`);
  return true;
}

function cutOffMember(world: World): boolean {
  const process = world.random.pick([...world.etcd.processes.values()]);
  if (process === undefined) return false;
  world.etcd.cutOff(process, !process.isCutOff);
  world.tell(`${process.peer} can ${process.isCutOff ? "no longer" : "again"} be reached by the other members`);
  return true;
}
