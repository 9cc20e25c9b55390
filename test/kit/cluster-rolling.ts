import { REVISION_ANNOTATION } from "#api/names.ts";
import { askedIn, type MemberTemplate, revisionOf, templateIn } from "#api/revision.ts";
import type { UpdateStatus } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { present, unknown } from "#base/observed.ts";
import { memberTls } from "#cluster/certificates.ts";
import { revisedPeer } from "#cluster/desired/peer.ts";
import { templateOf, wantedRevision } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { isRelease } from "#etcd/version.ts";
import type { Pod } from "#kube/kinds.ts";
import { ALWAYS_WELL, born, cluster, sickFor, withBudget } from "./cluster.ts";

// Changes of a snapshot (cluster.ts) that members go through while the cluster is changed member by member.

/** Without certificates, what a spec asks for and what members get are the same. */
type Plain = Omit<MemberTemplate, "tls">;

/** What members of these snapshots run before anything else is asked for. */
export const OLD: Plain = templateOf(cluster({ replicas: 1 }).peers[0]!);
/** The next patch, and the next minor. */
export const NEWER: Plain = { ...OLD, version: "3.6.17" };
export const NEXT_MINOR: Plain = { ...OLD, version: "3.7.1" };

/** A spec by which people restart members. */
export const ON_DELETE: Partial<ClusterSnapshot["cluster"]["spec"]> = { updateStrategy: { type: "OnDelete" } };

/** The minor before. */
export const BEFORE: Plain = { ...OLD, version: "3.5.35" };

/** What `cluster()` takes besides what is wanted. */
type Given = Parameters<typeof cluster>[0];

/** A settled cluster of which this is wanted by now, and nothing done yet. */
export function wanting(template: Plain, given: Given = {}): ClusterSnapshot {
  return cluster({ ...given, spec: { ...given?.spec, ...template } });
}

/** The snapshot in which no member could run what its spec asks for by now. */
export function refusing(snapshot: ClusterSnapshot): ClusterSnapshot {
  const spec = { ...snapshot.cluster.spec, etcd: { extraArgs: { "max-txn-op": "1" } } };
  return { ...snapshot, cluster: { ...snapshot.cluster, spec } };
}

/** What the spec asks for of each member. */
function asked(snapshot: ClusterSnapshot): MemberTemplate {
  return askedIn(snapshot.cluster.spec, memberTls(snapshot));
}

/** The snapshot with these changes to one EtcdPeer. */
export function withPeer(
  snapshot: ClusterSnapshot,
  name: string,
  change: { spec?: Partial<EtcdPeer["spec"]>; status?: EtcdPeer["status"] },
): ClusterSnapshot {
  const peers = snapshot.peers.map((peer) =>
    peer.metadata.name === name ? ({ ...peer, ...change, spec: { ...peer.spec, ...change.spec } } as EtcdPeer) : peer,
  );
  return { ...snapshot, peers };
}

/**
 * The snapshot in which the member's EtcdPeer says this, and remembers what it said before; and with the budget that this asks for.
 * @param isTakenOver whether its ReplicaSet has taken it over
 */
export function withTurn(
  snapshot: ClusterSnapshot,
  name: string,
  template: MemberTemplate = asked(snapshot),
  { isTakenOver = true, previous }: { isTakenOver?: boolean; previous?: MemberTemplate } = {},
): ClusterSnapshot {
  const live = snapshot.peers.find(({ metadata }) => metadata.name === name)!;
  const revised = born<EtcdPeer>(revisedPeer(live, templateIn(template), previous ?? templateOf(live)));
  const status = { ...live.status, ...(isTakenOver ? { revision: revisionOf(template) } : {}) };
  const given = { ...snapshot, peers: snapshot.peers.map((peer) => (peer === live ? { ...revised, status } : peer)) };
  return withSeenBudget(given);
}

/** The snapshot with the budget that it asks for, which Kubernetes has seen; without one if it has none. */
function withSeenBudget(snapshot: ClusterSnapshot): ClusterSnapshot {
  if (snapshot.budget === undefined) return snapshot;
  const { budget } = withBudget(snapshot);
  return { ...snapshot, budget: { ...budget, status: { observedGeneration: 1 } } as typeof budget };
}

/** The snapshot in which this process has found the first one that got something new silent for so long. */
export function silentFor(snapshot: ClusterSnapshot, name: string, ms: number): ClusterSnapshot {
  const { id } = snapshot.cluster.status!.identity!.initialMembers.find((member) => member.name === name)!;
  const history = { ...ALWAYS_WELL, sickForMs: ms, wellMsAgo: ms, silentForMs: ms, unfitForMs: ms };
  return { ...snapshot, histories: new Map(snapshot.histories).set(id, history) };
}

/** The snapshot in which the member's pod is like this. */
export function withPod(
  snapshot: ClusterSnapshot,
  name: string,
  change: { metadata?: object; status?: object },
): ClusterSnapshot {
  const pod = snapshot.pods.get(name)!;
  const changed = {
    ...pod,
    metadata: { ...pod.metadata, ...change.metadata },
    status: { ...pod.status, ...change.status },
  };
  return { ...snapshot, pods: new Map(snapshot.pods).set(name, changed as unknown as Pod) };
}

export function withoutPod(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return { ...snapshot, pods: new Map([...snapshot.pods].filter(([each]) => each !== name)) };
}

/** The snapshot in which the member's pod was made from this; `undefined`: it does not say from what. */
export function madeFrom(
  snapshot: ClusterSnapshot,
  name: string,
  template: MemberTemplate | undefined,
): ClusterSnapshot {
  const { [REVISION_ANNOTATION]: _, ...others } = snapshot.pods.get(name)!.metadata.annotations!;
  const annotations = template === undefined ? others : { ...others, [REVISION_ANNOTATION]: revisionOf(template) };
  return withPod(snapshot, name, { metadata: { annotations } });
}

/** The snapshot in which the member has nothing to go back to. */
export function withoutPrevious(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const peers = snapshot.peers.map((peer) => {
    const { previous: _, ...rest } = peer.spec;
    return peer.metadata.name === name ? { ...peer, spec: rest } : peer;
  });
  return { ...snapshot, peers };
}

/** The snapshot in which the member says this of itself. */
export function saying(snapshot: ClusterSnapshot, name: string, words: Partial<EndpointStatus>): ClusterSnapshot {
  const answer = snapshot.endpoints.get(name);
  if (answer?.is !== "present") throw new Error(`${name} does not answer`);
  return { ...snapshot, endpoints: new Map(snapshot.endpoints).set(name, present({ ...answer.value, ...words })) };
}

/** The snapshot in which these members say that a downgrade to 3.5 is enabled, and that their data is in this format. */
export function downgrading(
  snapshot: ClusterSnapshot,
  names: readonly string[] = ["my-etcd-0", "my-etcd-1", "my-etcd-2"],
  storageVersion = "3.5.0",
): ClusterSnapshot {
  return names.reduce((given, name) => saying(given, name, { downgradeTo: "3.5.0", storageVersion }), snapshot);
}

/** The snapshot in which the member has restarted with what is wanted, and has to show yet that it is well. */
export function withRestarted(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const turned = madeFrom(withTurn(snapshot, name), name, asked(snapshot));
  return withSeenBudget(saying(turned, name, { version: snapshot.cluster.spec.version }));
}

/** The snapshot in which these members have restarted with what is wanted, and are well. */
export function withUpdated(snapshot: ClusterSnapshot, ...names: readonly string[]): ClusterSnapshot {
  return names.reduce((given, name) => withoutPrevious(withRestarted(given, name), name), snapshot);
}

/** The snapshot in which the member has restarted with what is wanted half an hour ago, and does not answer. Its data is as it was. */
export function withCanary(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const turned = withPod(madeFrom(withTurn(snapshot, name), name, asked(snapshot)), name, {
    status: { conditions: [{ type: "Ready", status: "False" }] },
  });
  const endpoints = new Map([...turned.endpoints].filter(([each]) => each !== name));
  return withSeenBudget(withUpdate({ ...turned, endpoints }));
}

/** The status of a pod whose container has ended again and again. */
export const CRASHING = {
  containerStatuses: [
    {
      name: "etcd",
      state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 20s" } },
      lastState: { terminated: { exitCode: 1, reason: "Error", message: "unknown flag" } },
    },
  ],
};

/** The status of a pod in which etcd's container has yet to start, for whatever reason. */
export const STARTING = {
  phase: "Pending",
  containerStatuses: [{ name: "etcd", state: { waiting: { reason: "PodInitializing" } } }],
};

/** What a pod is like in which etcd is ready, and something beside it is not. */
export const UNREADY_BESIDE = {
  status: {
    conditions: [{ type: "Ready", status: "False" }],
    containerStatuses: [{ name: "etcd", ready: true, state: { running: {} } }],
  },
};

/** The snapshot in which the kubelet says that etcd's container runs in these members' pods. */
export function withRunning(snapshot: ClusterSnapshot, ...names: readonly string[]): ClusterSnapshot {
  const containerStatuses = [{ name: "etcd", state: { running: {} } }];
  return names.reduce((given, name) => withPod(given, name, { status: { containerStatuses } }), snapshot);
}

/** The snapshot in which the container of the member's pod ends again and again. @param sickMs for how long, if longer than it is known for */
export function withCrashing(snapshot: ClusterSnapshot, name: string, sickMs = 10_000): ClusterSnapshot {
  const crashing = withPod(snapshot, name, { status: CRASHING });
  const founder = snapshot.cluster.status?.identity?.initialMembers.find((member) => member.name === name);
  const isLonger = founder !== undefined && (snapshot.histories.get(founder.id)?.sickForMs ?? 0) < sickMs;
  return isLonger && snapshot.endpoints.get(name)?.is !== "present" ? sickFor(crashing, name, sickMs) : crashing;
}

/** The snapshot with an update in the status of the cluster: to what is wanted now, unless told otherwise. */
export function withUpdate(snapshot: ClusterSnapshot, update: Partial<UpdateStatus> = {}): ClusterSnapshot {
  const whole: UpdateStatus = {
    revision: wantedRevision(snapshot),
    from: OLD.version,
    to: snapshot.cluster.spec.version,
    updated: [],
    proven: false,
    since: "2026-01-01T11:30:00Z",
    ...update,
  };
  const status = { ...snapshot.cluster.status, update: whole };
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}

/** The snapshot in which the update was stopped because of this member. */
export function withStop(snapshot: ClusterSnapshot, member: string): ClusterSnapshot {
  return withUpdate(snapshot, { stopped: { member, message: "it ended" } });
}

/** The snapshot in which these members answer with these versions; `undefined`: not at all. */
export function answering(snapshot: ClusterSnapshot, ...versions: readonly (string | undefined)[]): ClusterSnapshot {
  return versions.reduce((given, version, n) => {
    const name = `my-etcd-${n}`;
    if (version === undefined) return silenced(given, name);
    const said = saying(given, name, { version });
    if (!isRelease(version)) return said;
    const { spec } = said.peers.find(({ metadata }) => metadata.name === name)!;
    return madeFrom(withPeer(said, name, { spec: { version } }), name, { ...spec, version });
  }, snapshot);
}

/** The snapshot in which this member could be asked, and did not answer. */
function silenced(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return { ...snapshot, endpoints: new Map(snapshot.endpoints).set(name, unknown("refused")) };
}

/** The snapshot in whose status these versions are on record. */
export function recording(snapshot: ClusterSnapshot, ...versions: readonly (string | undefined)[]): ClusterSnapshot {
  const members = snapshot.cluster.status!.identity!.initialMembers.map(({ name, id }, n) => ({
    name,
    id,
    healthy: true,
    leader: false,
    learner: false,
    ...(versions[n] === undefined ? {} : { version: versions[n] }),
  }));
  const status = { ...snapshot.cluster.status, members };
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}
