import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  CLUSTER_LABEL,
  clientServiceName,
  disruptionBudgetName,
  headlessServiceName,
  PAUSED_ANNOTATION,
  REVISION_ANNOTATION,
} from "#api/names.ts";
import { askedIn, revisionOf } from "#api/revision.ts";
import { hasTls } from "#api/tls.ts";
import { type ClusterIdentity, ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { letsQuorumGo } from "#cluster/exposure/desired/disruption-budget.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { clusterIdFromHex, hexOf, type MemberId, memberIdFromHex } from "#etcd/types.ts";
import { isBrokenBeside, isOver } from "#kit/world/containers.ts";
import { canStartEmpty, flagsOf } from "#kit/world/flags.ts";
import { isDowngrade, minorOf, mustBeNewerFirst, whyNotThisVersion } from "#kit/world/version.ts";
import type { World } from "#kit/world/world.ts";
import {
  type AnyResource,
  controllerOf,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  REPLICA_SETS,
  type Ref,
  type ReplicaSet,
  type Resource,
  SERVICES,
} from "#kube/kinds.ts";
import { usersVerdict } from "./auth-invariants.ts";
import { dyingClaims, isBroken, isForeign, isHeldByClaims, isRefused, prospectsOf } from "./impediments.ts";
import { type Memory, templateCanStartEmpty } from "./memory.ts";
import { certificationOf, wantedTls } from "./tls-invariants.ts";

// A good ending follows from the real world, and not from the operator's status. Lost disks, members that can run, and
// obstacles decide which objects must exist and what the conditions must report.

/** Half a minute for the observations in between; a learner is given up after ten minutes. */
const LOOKS_MS = 30_000;
const LEARNER_DEADLINE_MS = 10 * 60_000 + LOOKS_MS;

/** How the world ended otherwise than promised; `undefined` when it ended well. */
export function wrongEnding(world: World, memory: Memory): string | undefined {
  for (const cluster of world.api.list(ETCD_CLUSTERS)) {
    const wrong = new Ending(world, memory, cluster).wrong();
    if (wrong !== undefined) return `${cluster.metadata.name}: ${wrong}`;
  }
  return undefined;
}

function isRunningPodOf(pod: Pod, set: ReplicaSet): boolean {
  return controllerOf(pod)?.uid === set.metadata.uid && pod.metadata.deletionTimestamp === undefined && !isOver(pod);
}

function isClaimOf({ metadata }: KubeObject, { spec }: EtcdPeer): boolean {
  const { [CLAIM_CLUSTER_ID_ANNOTATION]: cluster, [CLAIM_MEMBER_ID_ANNOTATION]: member } = metadata.annotations ?? {};
  return cluster === spec.clusterID && member === spec.memberID;
}

class Ending {
  readonly #world: World;
  readonly #memory: Memory;
  readonly #cluster: EtcdCluster;

  constructor(world: World, memory: Memory, cluster: EtcdCluster) {
    this.#world = world;
    this.#memory = memory;
    this.#cluster = cluster;
  }

  wrong(): string | undefined {
    const { metadata, spec, status } = this.#cluster;
    // A pod on a node that is down cannot end, and its deletion waits.
    const isHeldUp = this.#world.kubelets.nodes.some(({ isUp }) => !isUp);
    if (metadata.deletionTimestamp !== undefined)
      return isHeldUp ? undefined : "it was to be deleted, and still exists";
    if (spec.paused || metadata.annotations?.[PAUSED_ANNOTATION] === "true")
      return (
        this.#wrongCondition("Paused", "True", this.#pauseReason()) ??
        this.#wrongCondition("Progressing", "False", "Paused")
      );
    if (spec.replicas === 0 && (status?.identity === undefined || status.sleep !== undefined)) {
      // A cluster that is put to sleep again while it wakes may be kept awake by its claims.
      const members = this.#world.etcd.truth.named(status?.identity?.clusterID)?.members.values() ?? [];
      const isAwake = this.#isHeldByClaims([...members].filter(({ isLearner }) => !isLearner));
      if (isAwake)
        return this.#condition("Ready")?.status === "False" ? undefined : "Ready is not False, and spec.replicas is 0";
      return this.#wrongAsleep(isHeldUp);
    }
    if (status?.sleep !== undefined && spec.replicas > 0) return "it started to wake long ago, and has not finished";
    const identity = status?.identity;
    if (
      identity === undefined &&
      this.#hasOldClaims() &&
      this.#wrongCondition("Ready", "False", "ClaimTaken") === undefined
    )
      return undefined;
    const { isHopeless } = certificationOf(this.#world, this.#cluster);
    if (isHopeless === true) return this.#wrongWithoutCertificates();
    const refused = this.#peers().find((peer) => isRefused(peer.spec));
    if (refused !== undefined) return `EtcdPeer ${refused.metadata.name} has a template that members never get`;
    if (isRefused(spec) && this.#peers().length === 0)
      return this.#wrongCondition("Progressing", "False", "SpecRefused");
    const strangers = this.#foreignObjects();
    if (identity === undefined && strangers.length > 0)
      return this.#wrongCondition("Ready", "False", "NameTaken") ?? this.#unmentioned("Ready", strangers);
    if (identity === undefined) return "its identity was never recorded";
    if (this.#memory.excused.has(clusterIdFromHex(identity.clusterID))) return undefined;
    return (
      this.#wrongCertificates() ??
      this.#missingObject(identity) ??
      this.#wrongMembers(identity) ??
      this.#wrongUsers(identity)
    );
  }

  /** Expected reason of the condition Paused. A cluster that was Ready when the pause began keeps NoEditWaits. */
  #pauseReason(): string {
    const [ready, paused] = [this.#condition("Ready"), this.#condition("Paused")];
    return ready?.status === "True" || paused?.reason === "NoEditWaits" ? "NoEditWaits" : "Paused";
  }

  /** Users match spec.auth whenever etcd has a quorum, or the condition names what a person must do. */
  #wrongUsers(identity: ClusterIdentity): string | undefined {
    const { spec } = this.#cluster;
    if (spec.auth === undefined || !prospectsOf(this.#world, identity, this.#memory).canHeal) return undefined;
    const { wrong, hindrance } = usersVerdict(this.#world, this.#cluster);
    if (wrong !== undefined) return `${wrong}, and no obstacle remains`;
    if (hindrance !== undefined) return this.#wrongCondition("AuthReady", "False", hindrance);
    return this.#wrongCondition("AuthReady", "True", spec.auth.enabled ? "AuthEnabled" : "AuthDisabled");
  }

  /** Only a person can repair these certificates: the status reports it, and running members run on. */
  #wrongWithoutCertificates(): string | undefined {
    this.#memory.excuses.add("hindered");
    const [certified, ready] = [this.#condition("TLSReady"), this.#condition("Ready")];
    if (ready?.status === "True") return "Ready is True, and its certificates are invalid";
    return certified === undefined || certified.status === "False"
      ? undefined
      : `TLSReady is ${certified.status}, and its certificates are invalid`;
  }

  /** During a rotation all certificates are valid; its completion is checked where members can restart. */
  #wrongCertificates(): string | undefined {
    if (this.#cluster.spec.tls === undefined || this.#condition("TLSReady") === undefined) return undefined;
    const { wrong } = certificationOf(this.#world, this.#cluster);
    if (wrong !== undefined) return `${wrong}, and no obstacle remains`;
    return this.#wrongTlsCondition() ?? this.#unfinishedTlsChange();
  }

  /** Once every member has what the spec asks for, the status records no change of TLS. */
  #unfinishedTlsChange(): string | undefined {
    const { peer, client } = this.#cluster.status?.tls ?? {};
    const change = this.#condition("UpToDate")?.status === "True" ? (peer?.change ?? client?.change) : undefined;
    return change && `status.tls has a change in round ${change.round}, and members are up to date: ${change.waitsFor}`;
  }

  /**
   * Valid certificates must be reported as valid. A member that stays down has never received a newer CA, and the
   * message reports that.
   */
  #wrongTlsCondition(): string | undefined {
    const { identity } = this.#cluster.status ?? {};
    const mayReceive = identity === undefined || prospectsOf(this.#world, identity, this.#memory).canHeal;
    const { reason, message } = this.#condition("TLSReady") ?? {};
    if (!mayReceive && reason === "CertificateInvalid" && /does? not trust yet$/.test(message ?? "")) return undefined;
    // A member that has yet to switch TLS off still speaks it, and its certificates are managed.
    const isOver = !hasTls(this.#cluster.spec) && this.#peers().every((peer) => peer.spec.tls === undefined);
    return this.#wrongCondition("TLSReady", "True", isOver ? "TLSDisabled" : "CertificatesValid");
  }

  /** @param isHeldUp a pod on a node that is down cannot end */
  #wrongAsleep(isHeldUp: boolean): string | undefined {
    const { name } = this.#cluster.metadata;
    const pods = this.#world.api
      .list(PODS)
      .filter((pod) => pod.metadata.labels?.[CLUSTER_LABEL] === name && !isOver(pod));
    const said = this.#wrongCondition("Ready", "False", "Asleep") ?? this.#wrongAboutClaims();
    if (said !== undefined) return said;
    if (pods.length === 0) return this.#wrongCondition("Progressing", "False", "Asleep") ?? this.#wrongSleepingPeer();
    const isRefused = this.#world.api.admission.size > 0;
    const names = pods.map(({ metadata }) => metadata.name).join(", ");
    return isHeldUp || isRefused ? undefined : `it is asleep, and ${names} still run`;
  }

  /** Checks the condition about lost claims: while all members sleep, only the status can report them. */
  #wrongAboutClaims(): string | undefined {
    const { identity } = this.#cluster.status ?? {};
    const members = this.#world.etcd.truth.named(identity?.clusterID)?.members.values() ?? [];
    const unjoined = identity?.initialMembers.filter(({ joined }) => !joined).map(({ name }) => name) ?? [];
    const voters = [...members].filter((member) => !member.isLearner && !isForeign(member));
    // Claims are found by their labels, which the member's EtcdPeer restores.
    const hasPeer = (name: string) => this.#peers().some(({ metadata }) => metadata.name === name);
    const isFound = (name: string) => {
      const claim = this.#find(PERSISTENT_VOLUME_CLAIMS, name);
      return claim !== undefined && (claim.metadata.labels?.[CLUSTER_LABEL] !== undefined || hasPeer(name));
    };
    const lost = voters.filter(({ name }) => !unjoined.includes(name) && !isFound(name));
    if (lost.length === 0) return this.#wrongCondition("Degraded", "False", "Asleep");
    const unreported = lost
      .map(({ name }) => this.#wrongMessage("Degraded", name))
      .find((wrong) => wrong !== undefined);
    return this.#wrongCondition("Degraded", "True", "ClaimLost") ?? unreported;
  }

  #wrongSleepingPeer(): string | undefined {
    const reasonOf = (peer: EtcdPeer) => peer.status?.conditions?.find(({ type }) => type === "Ready")?.reason;
    const wrong = this.#peers().find((peer) => reasonOf(peer) === "PodPending" || reasonOf(peer) === "MemberHealthy");
    return wrong === undefined
      ? undefined
      : `EtcdPeer ${wrong.metadata.name} is asleep, and its reason is ${reasonOf(wrong)}`;
  }

  /** Objects that have a name which the cluster needs, and that belong to another owner. */
  #foreignObjects(): readonly KubeObject[] {
    const { namespace, name } = this.#cluster.metadata;
    const peers = this.#peers().filter(({ metadata }) => metadata.namespace === namespace);
    // A foreign EtcdPeer with a member's name is always an obstacle; any other only before the cluster creates
    // anything.
    const members = new Set(this.#cluster.status?.members?.map((member) => member.name));
    const isNeeded = (peer: EtcdPeer) =>
      this.#cluster.status?.identity === undefined || members.has(peer.metadata.name);
    const needed: readonly (KubeObject | undefined)[] = [
      this.#find(SERVICES, headlessServiceName(name)),
      this.#find(SERVICES, clientServiceName(name)),
      this.#find(POD_DISRUPTION_BUDGETS, disruptionBudgetName(name)),
      ...peers.filter(isNeeded),
    ];
    const isOurs = (object: KubeObject) =>
      controllerOf(object)?.uid === this.#cluster.metadata.uid && !this.#world.people.foreign.has(object.metadata.uid);
    return needed.flatMap((object) => (object === undefined || isOurs(object) ? [] : [object]));
  }

  #hasOldClaims(): boolean {
    return this.#world.api
      .list(PERSISTENT_VOLUME_CLAIMS)
      .some(({ metadata }) => metadata.labels?.[CLUSTER_LABEL] === this.#cluster.metadata.name);
  }

  #peers(): readonly EtcdPeer[] {
    return this.#world.api.list(ETCD_PEERS).filter(({ spec }) => spec.clusterName === this.#cluster.metadata.name);
  }

  /** Accessories of the cluster (Services and budget) that are missing. */
  #missing() {
    const { name } = this.#cluster.metadata;
    const needed = [
      { resource: SERVICES as AnyResource, of: headlessServiceName(name), what: "headless Service" },
      { resource: SERVICES as AnyResource, of: clientServiceName(name), what: "client Service" },
      { resource: POD_DISRUPTION_BUDGETS as AnyResource, of: disruptionBudgetName(name), what: "budget" },
    ];
    return needed.filter(({ resource, of }) => this.#find(resource, of) === undefined);
  }

  #missingObject({ initialMembers }: ClusterIdentity): string | undefined {
    for (const { resource, what } of this.#missing()) {
      const isRefused = this.#world.api.refusal("operator", resource, "create") !== undefined;
      const wrong = isRefused ? this.#unreportedRefusal() : `its ${what} is missing`;
      if (wrong !== undefined) return wrong;
    }
    if (this.#isServiceLate() && !this.#world.api.admission.has(SERVICES.plural))
      return `its client Service is not of type ${this.#cluster.spec.clientService.spec.type}`;
    for (const member of initialMembers.filter(({ joined }) => joined)) {
      const peer = this.#peers().find(({ spec }) => spec.memberID === member.id);
      if (peer === undefined) continue; // It was replaced, or the wrong members are reported below.
      const claim = this.#world.api.list(PERSISTENT_VOLUME_CLAIMS).find((each) => isClaimOf(each, peer));
      if (claim !== undefined && claim.metadata.labels?.[CLUSTER_LABEL] === undefined)
        return `claim ${claim.metadata.name} has lost its labels`;
      if (peer.spec.bootstrap !== undefined) return `EtcdPeer ${member.name} is not fenced`;
      const set = this.#find(REPLICA_SETS, member.name);
      const isOurs = set !== undefined && controllerOf(set)?.uid === peer.metadata.uid;
      if (isOurs && templateCanStartEmpty(set) && !this.#isHeldBack(peer))
        return `ReplicaSet ${member.name} is not fenced`;
      const pod = this.#world.api.list(PODS).find((each) => isOurs && isRunningPodOf(each, set));
      if (pod !== undefined && canStartEmpty(flagsOf(pod))) return `pod ${pod.metadata.name} is not fenced`;
    }
    return undefined;
  }

  /** Whether the client Service is not of the type that the spec asks for. A Service without labels is not managed. */
  #isServiceLate(): boolean {
    const { metadata, spec } = this.#cluster;
    const service = this.#find(SERVICES, clientServiceName(metadata.name));
    const isOurs = service?.metadata.labels !== undefined && controllerOf(service)?.uid === metadata.uid;
    return isOurs && (service.spec?.type ?? "ClusterIP") !== spec.clientService.spec.type;
  }

  /** Whether an accessory has lost its annotations and the API server refuses the repair. */
  #lacksAnnotations(): boolean {
    const { name } = this.#cluster.metadata;
    const { admission } = this.#world.api;
    const accessories = [
      this.#find(SERVICES, headlessServiceName(name)),
      this.#find(SERVICES, clientServiceName(name)),
      this.#find(POD_DISRUPTION_BUDGETS, disruptionBudgetName(name)),
    ];
    return accessories.some(
      (object) =>
        object !== undefined &&
        controllerOf(object)?.uid === this.#cluster.metadata.uid &&
        object.metadata.annotations === undefined &&
        admission.has(object.kind === "Service" ? SERVICES.plural : POD_DISRUPTION_BUDGETS.plural),
    );
  }

  #wrongMembers(identity: ClusterIdentity): string | undefined {
    const { members, well, canHeal } = prospectsOf(this.#world, identity, this.#memory);
    const joined = identity.initialMembers.filter((member) => member.joined).length;
    const isForming = joined < quorumOf(identity.initialMembers.length);
    const voters = members.filter(({ isLearner }) => !isLearner);
    const healthy = voters.filter(({ id }) => well.has(id)).length;
    const { replicas } = this.#cluster.spec;
    // Members that a person added are not the operator's to manage.
    const own = members.filter((member) => !isForeign(member));
    const isComplete =
      own.every(({ id, isLearner }) => well.has(id) && !isLearner) && own.length === replicas && healthy >= own.length;
    if (canHeal && !isComplete)
      return `${healthy} of ${voters.length} voters are well, spec.replicas is ${replicas}, and no obstacle remains`;
    const alarms = [...(this.#world.etcd.truth.named(identity.clusterID)?.alarms ?? [])];
    const isUndecided = alarms.includes(undefined);
    const isFull = (this.#world.etcd.truth.named(identity.clusterID)?.full.size ?? 0) > 0;
    const isOver = alarms.some((id) => id !== undefined && !members.some((member) => member.id === id));
    if (canHeal && isOver) return "the alarm of a removed member is still raised";
    if (canHeal && isForming) return "all its members could have joined, and it still forms";
    if (healthy < quorumOf(voters.length)) return this.#wrongWithoutQuorum(identity, isForming, voters);
    const stuck = own.find(
      ({ id }) => this.#joinsForMs(`${identity.clusterID}/${hexOf(id)}`) > this.#joiningMayTakeMs(identity, id),
    );
    // With `replicas: 0` and claims that are being deleted all members run on: a person has to decide first.
    const isSleepHeld = replicas === 0 && this.#isHeldByClaims(voters);
    if (stuck !== undefined && !isUndecided && !isSleepHeld)
      return `${stuck.peerUrl} has been joining for longer than it may`;
    if (isForming)
      return this.#wrongCondition("Ready", "False", "Forming") ?? this.#wrongMessage("Progressing", "await-members:");
    // Voters that a person runs may be a quorum by themselves. The client Service leads to none of them, and the
    // operator may not know them.
    if (!own.some(({ id }) => well.has(id)))
      return this.#condition("Available")?.status === "True"
        ? "Available is True, and the client Service leads to no member"
        : undefined;
    const available =
      alarms.length > 0
        ? this.#wrongCondition("Available", "False", "CorruptionAlarm")
        : isFull
          ? this.#wrongCondition("Available", "False", "NoSpaceAlarm")
          : this.#wrongCondition("Available", "True", "QuorumAvailable");
    if (available !== undefined) return available;
    if (isUndecided) return this.#wrongMessage("Progressing", "data-differs:");
    if (alarms.length > 0) return this.#wrongCondition("Ready", "False", "CorruptionAlarm");
    if (isFull) return this.#wrongCondition("Ready", "False", "NoSpaceAlarm");
    if (isComplete)
      return this.#wrongWhenComplete(
        own.map(({ id }) => hexOf(id)),
        quorumOf(voters.length),
        voters.some(isForeign),
      );
    if (this.#condition("Ready")?.status !== "False") return "Ready is not False, and the cluster is not complete";
    const isSettled = this.#condition("Progressing")?.reason === "Settled";
    return isSettled ? "Progressing is Settled, and the cluster is not complete" : undefined;
  }

  /**
   * How long a member may take to join. A member that cannot start gets half of the time since the cluster was last
   * Ready, by the operator's clock.
   */
  #joiningMayTakeMs({ clusterID }: ClusterIdentity, id: MemberId): number {
    const { etcd, time } = this.#world;
    const { status, lastTransitionTime } = this.#condition("Ready") ?? {};
    if (status !== "False" || etcd.truth.named(clusterID)?.onceHadData.has(id) === true) return LEARNER_DEADLINE_MS;
    const sinceMs = time.nowMs + time.skewMs - Date.parse(lastTransitionTime ?? "");
    return Math.max(LEARNER_DEADLINE_MS, sinceMs / 2 + LOOKS_MS);
  }

  #joinsForMs(member: string): number {
    const { nowMs } = this.#world.time;
    return nowMs - (this.#memory.arrivingSinceMs.get(member) ?? nowMs);
  }

  #isHeldByClaims(voters: Parameters<typeof isHeldByClaims>[2]): boolean {
    const { clusterID = "" } = this.#cluster.status?.identity ?? {};
    return isHeldByClaims(this.#world, { clusterID }, voters);
  }

  /** @param isShared voters that a person runs may keep the operator from restarting one of its members */
  #wrongWhenComplete(ids: readonly string[], needed: number, isShared: boolean): string | undefined {
    const peers = this.#peers();
    const { version } = this.#cluster.spec;
    const extra = peers.find(({ spec }) => !ids.includes(spec.memberID ?? ""));
    if (extra !== undefined) return `EtcdPeer ${extra.metadata.name} has no member`;
    if (peers.length !== ids.length) return `${peers.length} EtcdPeers for ${ids.length} members`;
    const minor = this.#world.etcd.truth.named(this.#cluster.status?.identity?.clusterID)?.minor;
    // A running member may have been given a new version already; its data comes from the version that it runs.
    const running = [...this.#world.etcd.processes.values()].filter(({ data }) => ids.includes(hexOf(data.memberId)));
    const down = peers.filter(({ metadata }) => !running.some(({ peer }) => peer === metadata.name));
    const used = [...down.map(({ spec }) => spec.version), ...running.map((process) => process.version)];
    const isNoWay =
      (whyNotThisVersion(version, minor) !== undefined && !isDowngrade(version, minor)) ||
      used.some((each) => mustBeNewerFirst(each, version) || mustBeNewerFirst(version, each)) ||
      used.some((each) => Math.abs(minorOf(each) - minorOf(version)) > 1);
    if (isNoWay && used.some((each) => each !== version)) return this.#wrongMessage("Ready", "spec.version is refused");
    if (isRefused(this.#cluster.spec)) return this.#wrongMessage("Ready", "spec.podTemplate.spec.hostNetwork is true");
    const downgradeTo = this.#world.etcd.truth.named(this.#cluster.status?.identity?.clusterID)?.downgradeTo;
    if (downgradeTo !== undefined && downgradeTo !== minorOf(version))
      return `a downgrade to 3.${downgradeTo} is enabled, and spec.version is ${version}`;
    if (this.#cluster.status?.update?.stopped !== undefined) {
      if (!isBroken(this.#cluster.spec)) this.#memory.excuses.add("stopped");
      return this.#wrongMessage("Ready", "the update has stopped");
    }
    const isHeld = this.#isHeldByClaims(ids.map((id) => ({ id: memberIdFromHex(id) })));
    const isHeldBack = (isShared || isHeld || this.#world.api.admission.size > 0) && this.#behind(peers) !== undefined;
    if (isHeldBack)
      return this.#condition("Ready")?.status === "False"
        ? undefined
        : "Ready is not False, and members are not up to date";
    const behind = this.#behind(peers);
    if (isBroken(this.#cluster.spec)) {
      // Members that were created with a crashing sidecar take part, so no update was needed. The few others wait for
      // them.
      const left = peers.filter((peer) => this.#behind([peer]) !== undefined);
      const isMadeSo = isBrokenBeside(this.#cluster.spec.podTemplate ?? {}) && left.length * 2 < peers.length;
      if (!isMadeSo) return "no member can run the spec, every member is well, and no update has stopped";
      return this.#condition("Ready")?.status === "False" ? undefined : "Ready is not False, and a sidecar crashes";
    }
    if (behind !== undefined) return behind;
    const unready = peers.find(
      ({ status }) => !status?.conditions?.some((each) => each.type === "Ready" && each.status === "True"),
    );
    if (unready !== undefined) {
      const claim = this.#world.api
        .list(PERSISTENT_VOLUME_CLAIMS)
        .find(({ metadata }) => metadata.name === unready.metadata.name);
      const isDisowned = claim !== undefined && !isClaimOf(claim, unready);
      const reason = unready.status?.conditions?.find(({ type }) => type === "Ready")?.reason;
      return (isDisowned && reason === "ClaimTaken") || this.#isHeldBack(unready)
        ? undefined
        : `EtcdPeer ${unready.metadata.name} is not Ready: ${reason}`;
    }
    // Accessories that are missing or wrong were refused by the API server: nothing else keeps the operator from
    // repairing them.
    const budget = this.#find(POD_DISRUPTION_BUDGETS, disruptionBudgetName(this.#cluster.metadata.name));
    // The pod of a removed member counts as long as it exists, such as on a node that is down.
    const isOf = ({ metadata }: KubeObject) => metadata.labels?.[CLUSTER_LABEL] === this.#cluster.metadata.name;
    const hasOnlyItsPods = this.#world.api.list(PODS).filter(isOf).length === ids.length;
    const isOurBudget =
      hasOnlyItsPods && budget !== undefined && controllerOf(budget)?.uid === this.#cluster.metadata.uid;
    const spared = !isShared && letsQuorumGo({ cluster: this.#cluster }, ids.length) ? 1 : 0;
    const isBudgetLate = isOurBudget && budget?.spec?.minAvailable !== needed - spared;
    const isLacking = this.#missing().length > 0 || isBudgetLate || this.#isServiceLate() || this.#lacksAnnotations();
    const told = isLacking ? this.#wrongMessage("Ready", "is forbidden") : undefined;
    const strangers = this.#foreignObjects();
    if (strangers.length > 0)
      return (
        told ??
        (isLacking ? undefined : this.#wrongCondition("Ready", "False", "NameTaken")) ??
        this.#unmentioned("Ready", strangers)
      );
    if (isLacking) return told ?? this.#wrongCondition("Ready", "False", "StepRefused");
    const { hindrance } = usersVerdict(this.#world, this.#cluster);
    if (hindrance !== undefined)
      return (
        this.#wrongCondition("Ready", "False", hindrance) ?? this.#wrongCondition("Progressing", "False", hindrance)
      );
    return (
      this.#wrongCondition("Ready", "True", "AllMembersHealthy") ??
      this.#wrongCondition("Progressing", "False", "Settled") ??
      this.#wrongCondition("UpToDate", "True", "UpToDate")
    );
  }

  /** Whether the API server refuses a change of its ReplicaSet, and its EtcdPeer reports that. */
  #isHeldBack({ status }: EtcdPeer): boolean {
    const isTold = status?.conditions?.some(({ message }) => message.includes("is forbidden")) ?? false;
    return isTold && this.#world.api.refusal("operator", REPLICA_SETS, "replace") !== undefined;
  }

  #unreportedRefusal(): string | undefined {
    const texts = (this.#cluster.status?.conditions ?? []).map(({ message }) => message);
    return texts.some((text) => text.includes("is forbidden"))
      ? undefined
      : `a condition should report the refusal, and the messages are: ${texts.join("; ")}`;
  }

  /** The EtcdPeer or pod that does not match the spec. */
  #behind(peers: readonly EtcdPeer[]): string | undefined {
    const { unfinished } = certificationOf(this.#world, this.#cluster);
    if (unfinished !== undefined) return `${unfinished}, and no obstacle remains`;
    const wanted = revisionOf(askedIn(this.#cluster.spec, wantedTls(this.#world, this.#cluster)));
    const late = peers.find(({ spec }) => revisionOf(spec) !== wanted);
    if (late !== undefined) return `EtcdPeer ${late.metadata.name} does not match the spec`;
    const pod = this.#world.api
      .list(PODS)
      .filter((pod) => !isOver(pod))
      .find(
        ({ metadata, spec }) =>
          peers.some((peer) => peer.metadata.name === spec?.hostname) &&
          metadata.deletionTimestamp === undefined &&
          metadata.annotations?.[REVISION_ANNOTATION] !== wanted,
      );
    return pod === undefined ? undefined : `pod ${pod.metadata.name} does not match the spec`;
  }

  #unmentioned(type: string, objects: readonly KubeObject[]): string | undefined {
    return this.#wrongMessage(type, ...objects.map(({ metadata }) => metadata.name));
  }

  /**
   * Checks the conditions without a quorum. Members that the operator cannot reach may have one: then Available is
   * Unknown, if their pods are Ready.
   */
  #wrongWithoutQuorum(
    identity: Pick<ClusterIdentity, "clusterID">,
    isForming: boolean,
    voters: Parameters<typeof dyingClaims>[2],
  ): string | undefined {
    const running = [...this.#world.etcd.processes.values()].filter(
      (process) =>
        hexOf(process.data.clusterId) === identity.clusterID && this.#world.etcd.leaderOf(process) !== undefined,
    );
    if (running.length >= quorumOf(voters.length)) {
      // Members that a person runs are not asked in any case.
      const own = running.filter(({ data }) => !this.#world.etcd.truth.of(data.clusterId).foreign.has(data.memberId));
      const isUnseen = !isForming && own.length > 0 && own.every(({ isHidden }) => isHidden);
      return isUnseen ? this.#wrongCondition("Available", "Unknown", "MembersUnreachable") : undefined;
    }
    if (this.#condition("Available")?.status === "True") return "Available is True without a quorum";
    if (this.#condition("Ready")?.status !== "False") return "Ready is not False without a quorum";
    // A pod that is not replaced because its claim would be lost is named in the message.
    const isHeld = dyingClaims(this.#world, identity, voters).length > 0;
    const held = isHeld ? ["(held back: restart-stopped)"] : [];
    return isForming
      ? this.#wrongMessage("Progressing", "await-members:", ...held)
      : this.#wrongMessage("Progressing", "await-quorum:", ...held);
  }

  #wrongCondition(type: string, status: string, reason: string): string | undefined {
    const condition = this.#condition(type);
    if (condition?.status === status && condition.reason === reason) return undefined;
    return `${type} should be ${status} (${reason}), and is ${condition?.status} (${condition?.reason}: ${condition?.message})`;
  }

  /** @param texts one of them must be in the message */
  #wrongMessage(type: string, ...texts: readonly string[]): string | undefined {
    const message = this.#condition(type)?.message ?? "";
    return texts.some((text) => message.includes(text))
      ? undefined
      : `${type} should mention ${texts}, and its message is: ${message}`;
  }

  #condition(type: string) {
    return this.#cluster.status?.conditions?.find((condition) => condition.type === type);
  }

  #find<T extends KubeObject>(resource: Resource<T>, name: string): T | undefined {
    const ref: Ref = { namespace: this.#cluster.metadata.namespace, name };
    return this.#world.api.find(resource, ref);
  }
}
