import { CLAIM_RELEASE_ANNOTATION, REVISION_ANNOTATION } from "#api/names.ts";
import { askedIn, type MemberTemplate, revisionOf, templateIn } from "#api/revision.ts";
import type { UpdateStatus } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { present, unknown } from "#base/observed.ts";
import { revisedPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { templateOf, wantedRevision } from "#cluster/update/wanted-template.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { isRelease } from "#etcd/version.ts";
import type { Pod } from "#kube/kinds.ts";
import { begin } from "./begin.ts";
import { ALWAYS_WELL, born, cluster, sickFor, withBudget } from "./cluster.ts";

// Changes of a snapshot (cluster.ts) for members that are updated one at a time.

/** A template without TLS: then what the spec asks for is what members get. */
type Plain = Omit<MemberTemplate, "tls">;

/** The template that members of these snapshots run at first. */
export const OLD: Plain = templateOf(cluster({ replicas: 1 }).peers[0]!);
/** The next patch release, and the next minor. */
export const NEWER: Plain = { ...OLD, version: "3.6.17" };
export const NEXT_MINOR: Plain = { ...OLD, version: "3.7.1" };

/** A spec with which people restart members themselves. */
export const ON_DELETE: Partial<ClusterSnapshot["cluster"]["spec"]> = { updateStrategy: { type: "OnDelete" } };

/** The previous minor. */
export const BEFORE: Plain = { ...OLD, version: "3.5.35" };

/** Options of `cluster()` apart from the template. */
type Given = Parameters<typeof cluster>[0];

/**
 * A settled cluster with this template in its spec, before any restart. Its members' raft logs are readable by any
 * release.
 */
export function wanting(template: Plain, given: Given = {}): ClusterSnapshot {
  return withReadableEntries(cluster({ ...given, spec: { ...given?.spec, ...template } }));
}

/** The snapshot in which these members, or all, are recorded to have raft logs without entries of etcd 3.5. */
export function withReadableEntries(snapshot: ClusterSnapshot, names?: readonly string[]): ClusterSnapshot {
  const { status } = snapshot.cluster;
  const recorded = status?.members ?? [];
  const members = (status?.identity?.initialMembers ?? []).flatMap(({ name, id }) => {
    const before = recorded.find((member) => member.id === id);
    if (before === undefined && recorded.length > 0) return [];
    const isReadable = names?.includes(name) ?? true;
    const own = before ?? { name, id, role: "Voter" as const, health: "Healthy" as const };
    return [{ ...own, ...(isReadable ? { raftEntriesFrom: "3.6" } : {}) }];
  });
  const others = recorded.filter(({ id }) => !members.some((member) => member.id === id));
  return {
    ...snapshot,
    cluster: { ...snapshot.cluster, status: { ...status, members: [...members, ...others] } },
  };
}

/** The snapshot with a spec that no member could run. */
export function refusing(snapshot: ClusterSnapshot): ClusterSnapshot {
  const spec = { ...snapshot.cluster.spec, etcd: { extraArgs: { "max-txn-op": "1" } } };
  return { ...snapshot, cluster: { ...snapshot.cluster, spec } };
}

/** The template that the spec asks for. */
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
 * The snapshot in which the member's EtcdPeer has this template and remembers its previous one, with the budget for
 * that.
 * @param isTakenOver whether its ReplicaSet has the template, too
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

/** The snapshot in which all EtcdPeers have the wanted template; the pods are old. */
export function withTurns(snapshot: ClusterSnapshot): ClusterSnapshot {
  return snapshot.peers.reduce((given, { metadata }) => withTurn(given, metadata.name), snapshot);
}

/** The snapshot with its budget, if it needs one, and seen by Kubernetes. */
function withSeenBudget(snapshot: ClusterSnapshot): ClusterSnapshot {
  if (snapshot.budget === undefined) return snapshot;
  const { budget } = withBudget(snapshot);
  return { ...snapshot, budget: { ...budget, status: { observedGeneration: 1 } } as typeof budget };
}

/** The snapshot in which the member has been silent for so long, as this process has observed. */
export function silentFor(snapshot: ClusterSnapshot, name: string, ms: number): ClusterSnapshot {
  const { id } = snapshot.cluster.status!.identity!.initialMembers.find((member) => member.name === name)!;
  const history = { ...ALWAYS_WELL, sickForMs: ms, wellMsAgo: ms, silentForMs: ms, unfitForMs: ms };
  return { ...snapshot, histories: new Map(snapshot.histories).set(id, history) };
}

/** The snapshot with a change of the member's pod. */
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

/** The snapshot in which the member's claim records this release as the last one that answered with its data. */
export function withRelease(snapshot: ClusterSnapshot, name: string, release: string): ClusterSnapshot {
  const claims = snapshot.claims.map((claim) => {
    if (claim.metadata.name !== name) return claim;
    const annotations = { ...claim.metadata.annotations, [CLAIM_RELEASE_ANNOTATION]: release };
    return { ...claim, metadata: { ...claim.metadata, annotations } };
  });
  return { ...snapshot, claims };
}

export function withoutPod(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return { ...snapshot, pods: new Map([...snapshot.pods].filter(([each]) => each !== name)) };
}

/** The snapshot in which the member's pod was made from this template; `undefined`: the template is unknown. */
export function madeFrom(
  snapshot: ClusterSnapshot,
  name: string,
  template: MemberTemplate | undefined,
): ClusterSnapshot {
  const { [REVISION_ANNOTATION]: _, ...others } = snapshot.pods.get(name)!.metadata.annotations!;
  const annotations = template === undefined ? others : { ...others, [REVISION_ANNOTATION]: revisionOf(template) };
  return withPod(snapshot, name, { metadata: { annotations } });
}

/** The snapshot in which the member has no previous template for a rollback. */
export function withoutPrevious(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const peers = snapshot.peers.map((peer) => {
    const { previous: _, ...rest } = peer.spec;
    return peer.metadata.name === name ? { ...peer, spec: rest } : peer;
  });
  return { ...snapshot, peers };
}

/** The snapshot with a change of the member's own status. */
export function saying(snapshot: ClusterSnapshot, name: string, words: Partial<EndpointStatus>): ClusterSnapshot {
  const answer = snapshot.endpoints.get(name);
  if (answer?.is !== "present") throw new Error(`${name} does not answer`);
  return { ...snapshot, endpoints: new Map(snapshot.endpoints).set(name, present({ ...answer.value, ...words })) };
}

/** The snapshot in which these members report an enabled downgrade to 3.5, and this storage version. */
export function downgrading(
  snapshot: ClusterSnapshot,
  names: readonly string[] = ["my-etcd-0", "my-etcd-1", "my-etcd-2"],
  storageVersion = "3.5.0",
): ClusterSnapshot {
  return names.reduce((given, name) => saying(given, name, { downgradeTo: "3.5.0", storageVersion }), snapshot);
}

/** The snapshot in which the member has restarted with the wanted template, and has yet to prove healthy. */
export function withRestarted(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const turned = begin(snapshot).apply(withTurn, name).apply(madeFrom, name, asked(snapshot)).snapshot;
  return begin(turned).apply(saying, name, { version: snapshot.cluster.spec.version }).apply(withSeenBudget).snapshot;
}

/** The snapshot in which these members have restarted with the wanted template, and are healthy. */
export function withUpdated(snapshot: ClusterSnapshot, ...names: readonly string[]): ClusterSnapshot {
  return names.reduce(
    (given, name) => begin(given).apply(withRestarted, name).apply(withoutPrevious, name).snapshot,
    snapshot,
  );
}

/**
 * The snapshot in which the member restarted with the wanted template half an hour ago, and does not answer. Its data
 * is unchanged.
 */
export function withCanary(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const turned = begin(snapshot)
    .apply(withTurn, name)
    .apply(madeFrom, name, asked(snapshot))
    .apply(withPod, name, NOT_READY).snapshot;
  const endpoints = new Map([...turned.endpoints].filter(([each]) => each !== name));
  return begin({ ...turned, endpoints })
    .apply(withUpdate)
    .apply(withSeenBudget).snapshot;
}

/** The status of a pod with a crash looping container. */
export const CRASHING = {
  containerStatuses: [
    {
      name: "etcd",
      state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 20s" } },
      lastState: { terminated: { exitCode: 1, reason: "Error", message: "unknown flag" } },
    },
  ],
};

/** The status of a pod before etcd's container starts, for whatever reason. */
export const STARTING = {
  phase: "Pending",
  containerStatuses: [{ name: "etcd", state: { waiting: { reason: "PodInitializing" } } }],
};

/** A pod that is not Ready. */
export const NOT_READY = { status: { conditions: [{ type: "Ready", status: "False" }] } };

/** A pod in which etcd is ready, and a sidecar is not. */
export const UNREADY_BESIDE = {
  status: {
    ...NOT_READY.status,
    containerStatuses: [{ name: "etcd", ready: true, state: { running: {} } }],
  },
};

/** The snapshot in which the kubelet reports that etcd's container runs in these members' pods. */
export function withRunning(snapshot: ClusterSnapshot, ...names: readonly string[]): ClusterSnapshot {
  const containerStatuses = [{ name: "etcd", state: { running: {} } }];
  return names.reduce((given, name) => withPod(given, name, { status: { containerStatuses } }), snapshot);
}

/**
 * The snapshot in which the container of the member's pod is crash looping.
 * @param sickMs for how long, if longer than already observed
 */
export function withCrashing(snapshot: ClusterSnapshot, name: string, sickMs = 10_000): ClusterSnapshot {
  const crashing = withPod(snapshot, name, { status: CRASHING });
  const founder = snapshot.cluster.status?.identity?.initialMembers.find((member) => member.name === name);
  const isLonger = founder !== undefined && (snapshot.histories.get(founder.id)?.sickForMs ?? 0) < sickMs;
  return isLonger && snapshot.endpoints.get(name)?.is !== "present" ? sickFor(crashing, name, sickMs) : crashing;
}

/** The snapshot with an update in the status of the cluster; by default to the wanted template. */
export function withUpdate(snapshot: ClusterSnapshot, update: Partial<UpdateStatus> = {}): ClusterSnapshot {
  const whole: UpdateStatus = {
    revision: wantedRevision(snapshot),
    from: OLD.version,
    to: snapshot.cluster.spec.version,
    updated: [],
    proven: false,
    startTime: "2026-01-01T11:30:00Z",
    ...update,
  };
  const status = { ...snapshot.cluster.status, update: whole };
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}

/** The snapshot in which the update was stopped because of this member. */
export function withStop(snapshot: ClusterSnapshot, member: string): ClusterSnapshot {
  return withUpdate(snapshot, { stopped: { member, message: "it ended" } });
}

/** The snapshot in which these members answer with these versions; `undefined`: no answer. */
export function answering(snapshot: ClusterSnapshot, ...versions: readonly (string | undefined)[]): ClusterSnapshot {
  return versions.reduce((given, version, n) => {
    const name = `my-etcd-${n}`;
    if (version === undefined) return silenced(given, name);
    const said = saying(given, name, { version });
    if (!isRelease(version)) return said;
    const { spec } = said.peers.find(({ metadata }) => metadata.name === name)!;
    return begin(said)
      .apply(withPeer, name, { spec: { version } })
      .apply(madeFrom, name, { ...spec, version }).snapshot;
  }, snapshot);
}

/** The snapshot in which this member was dialled, and did not answer. */
function silenced(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return { ...snapshot, endpoints: new Map(snapshot.endpoints).set(name, unknown("refused")) };
}

/** The snapshot with these versions of members in its status. */
export function recording(snapshot: ClusterSnapshot, ...versions: readonly (string | undefined)[]): ClusterSnapshot {
  const members = snapshot.cluster.status!.identity!.initialMembers.map(({ name, id }, n) => ({
    name,
    id,
    role: "Voter" as const,
    health: "Healthy" as const,
    ...(versions[n] === undefined ? {} : { version: versions[n] }),
  }));
  const status = { ...snapshot.cluster.status, members };
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}
