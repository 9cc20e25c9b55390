import { describe, expect, test } from "vitest";
import { CLEANUP_FINALIZER, REMOVAL_ANNOTATION } from "#api/names.ts";
import { DEFAULT_TLS } from "#api/tls.ts";
import { present } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { networkPolicy } from "#cluster/exposure/desired/network-policy.ts";
import { podMonitor } from "#cluster/exposure/desired/pod-monitor.ts";
import { headlessService } from "#cluster/exposure/desired/services.ts";
import { restoreFor } from "#cluster/identity/desired/restore.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { firstBackup } from "#cluster/update/desired/first-backup.ts";
import { certificateRequest, trustMap } from "#cluster-tls/issue/desired/certificates.ts";
import { hexOf, memberId, memberIdFromHex } from "#etcd/types.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { born, cluster, sickFor, unpublished, withArrival, withRemoval } from "#kit/snapshots/cluster.ts";
import { ROOT_SECRET } from "#kit/snapshots/cluster-auth.ts";
import { listIn, withAlarms } from "#kit/snapshots/cluster-changes.ts";
import { asking, MONITOR } from "#kit/snapshots/cluster-monitoring.ts";
import { BEFORE, downgrading, NEWER, NEXT_MINOR, saying, wanting, withPeer } from "#kit/snapshots/cluster-rolling.ts";
import { asleep, SLEEP, tired, wanted, woken } from "#kit/snapshots/cluster-sleep.ts";
import { made, secured } from "#kit/snapshots/cluster-tls.ts";
import { sourceBackup } from "#kit/snapshots/etcd-restore.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import type { Certificate } from "#kube/kinds.ts";
import { after as afterStep } from "./model.ts";
import { arrived } from "./model-kubernetes.ts";

const GIVEN = cluster();
const [FIRST, , THIRD] = GIVEN.peers;
const ID = (n: number) => memberIdFromHex(GIVEN.cluster.status!.identity!.initialMembers[n]!.id);

function did(step: ClusterStep, given: ClusterSnapshot = GIVEN): ClusterSnapshot {
  const made = afterStep(given, step);
  if (typeof made === "string") throw new Error(`${step.do} was not foretold: ${made}`);
  return made;
}

function answer({ endpoints }: ClusterSnapshot, name: string) {
  const said = endpoints.get(name);
  return said?.is === "present" ? said.value : undefined;
}

/** Release of the member, target of a downgrade, and format of its data. */
function formatOf(snapshot: ClusterSnapshot, name: string) {
  const said = answer(snapshot, name);
  return [said?.version, said?.downgradeTo, said?.storageVersion];
}

describe("forecast: the effect of a step", () => {
  test("recordJoined: only the named members have joined", () => {
    const given = cluster({ stage: "starting" });
    const made = did({ do: "recordJoined", names: ["my-etcd-1"] }, given);
    expect(made.cluster.status?.identity?.initialMembers.map(({ joined }) => joined)).toEqual([false, true, false]);
    expect(made.cluster.status?.identity?.clusterID).toBe(given.cluster.status?.identity?.clusterID);
  });

  const secure = secured();
  const identity = GIVEN.cluster.status!.identity!;
  const restore = restoreFor(GIVEN, { source: { backupName: "nightly" } });
  const facts = made(secure, "server");
  const authority = made(secure, "clientCA");
  const request = certificateRequest(secure, "server");
  const live = born<Certificate>(request);
  const unforeseen: readonly [because: string, ...steps: readonly ClusterStep[]][] = [
    [
      "the cluster has yet to form",
      { do: "writeTls", tls: DEFAULT_TLS },
      { do: "recordIdentity", identity },
      { do: "createRestore", restore },
    ],
    [
      "a member has not started, and the forecast assumes that nothing fails",
      { do: "stopUpdate", name: "my-etcd-1", message: "" },
    ],
    [
      "what will be issued is not known in advance",
      { do: "issueAuthority", side: "peer", trust: "" },
      { do: "rotateAuthority", side: "client", phase: "add", facts: authority },
      { do: "issueLeaf", purpose: "server", authority, facts },
      { do: "spreadTrust", purpose: "server", authority, facts },
      { do: "createRequest", purpose: "server", request },
      { do: "replaceRequest", purpose: "server", live, request },
      { do: "publishClientSecret", source: facts, facts, trust: "" },
    ],
    [
      "users of etcd are not in the forecast",
      { do: "createRootSecret" },
      { do: "setRootPassword", secret: ROOT_SECRET, isNew: false },
      { do: "addUser", user: "operator", asRoot: false },
      { do: "grantRole", user: "operator", asRoot: false },
      { do: "enableAuth" },
      { do: "disableAuth", asRoot: false },
    ],
  ];
  for (const [because, ...steps] of unforeseen)
    for (const step of steps)
      test(`${step.do}: the effect cannot be predicted`, () => expect(afterStep(secure, step)).toBe(because));

  test("createService, replaceService: each Service is stored in its own field", () => {
    const bare = { ...GIVEN, headlessService: undefined, clientService: undefined };
    const [headless, client] = [GIVEN.headlessService!, GIVEN.clientService!];
    expect(did({ do: "createService", service: headlessService(GIVEN) }, bare)).toMatchObject({
      headlessService: { metadata: { name: "my-etcd", uid: "foretold-Service-my-etcd" } },
      clientService: undefined,
    });
    expect(did({ do: "createService", service: client }, bare)).toMatchObject({
      headlessService: undefined,
      clientService: { metadata: { name: "my-etcd-client" } },
    });
    const service = { ...client, spec: { ...client.spec, type: "NodePort" as const } };
    const made = did({ do: "replaceService", live: client, service });
    expect([made.clientService?.spec?.type, made.headlessService]).toEqual(["NodePort", headless]);
    expect(made.clientService?.metadata.uid).toBe(client.metadata.uid);
  });

  test("a PodDisruptionBudget is created, changed and deleted", () => {
    const budget = GIVEN.budget!;
    const live = { ...budget, status: { observedGeneration: 1 } } as typeof budget;
    expect(did({ do: "createBudget", budget }, { ...GIVEN, budget: undefined }).budget?.spec).toEqual(budget.spec);
    const changed = did({ do: "replaceBudget", live, budget: { ...budget, spec: { minAvailable: 3 } } }).budget;
    expect([changed?.spec?.minAvailable, changed?.status?.observedGeneration]).toEqual([3, 1]);
    expect(did({ do: "deleteBudget", live }).budget).toBeUndefined();
  });

  test("a NetworkPolicy is created, changed and deleted", () => {
    const policy = networkPolicy(GIVEN);
    const made = did({ do: "createNetworkPolicy", policy }).networkPolicy;
    expect(made?.spec).toEqual(policy.spec);
    const other = { ...policy, spec: { ...policy.spec!, ingress: [] } };
    const changed = did({ do: "replaceNetworkPolicy", live: made!, policy: other }).networkPolicy;
    expect([changed?.spec?.ingress, changed?.metadata.uid]).toEqual([[], made?.metadata.uid]);
    expect(did({ do: "deleteNetworkPolicy", live: made! }).networkPolicy).toBeUndefined();
  });

  test("createPeer adds an EtcdPeer at the end, and replacePeer changes it in its place", () => {
    const peer = { ...FIRST!, metadata: { ...FIRST!.metadata, name: "my-etcd-3" } };
    expect(did({ do: "createPeer", peer }).peers.map(({ metadata }) => metadata.name)).toEqual([
      ...["my-etcd-0", "my-etcd-1", "my-etcd-2", "my-etcd-3"],
    ]);
    const { status: _, ...draft } = withPeer(GIVEN, "my-etcd-0", { spec: NEWER }).peers[0]!;
    const live = withPeer(GIVEN, "my-etcd-0", { status: { revision: "x" } });
    const made = did({ do: "replacePeer", live: live.peers[0]!, peer: draft }, live).peers;
    expect(made.map(({ spec, status }) => [spec.version, status?.revision])).toEqual([
      ["3.6.17", "x"],
      ["3.6.16", undefined],
      ["3.6.16", undefined],
    ]);
  });

  test("createBackup: the backup completes at once", () => {
    const upgrade = wanting(NEXT_MINOR);
    const backup = firstBackup(upgrade, etcdBackupSchedule());
    const { sourceBackups: made } = did({ do: "createBackup", backup }, upgrade);
    expect(made).toMatchObject([
      { metadata: backup.metadata, status: { phase: "Completed", completionTime: rfc3339(upgrade.takenAtMs) } },
    ]);
    const earlier = sourceBackup();
    const both = did({ do: "createBackup", backup }, { ...upgrade, sourceBackups: [earlier] }).sourceBackups;
    expect(both.map(({ metadata }) => metadata.name)).toEqual([earlier.metadata.name, backup.metadata.name]);
  });

  test("markRemoval: the removal annotation is set and removed", () => {
    const marked = did({ do: "markRemoval", peer: THIRD!, removal: "scale-down" });
    expect(marked.peers.map(({ metadata }) => metadata.annotations?.[REMOVAL_ANNOTATION])).toEqual([
      ...[undefined, undefined, "scale-down"],
    ]);
    const peer = withRemoval(GIVEN, "my-etcd-2", "replacement").peers[2]!;
    const back = did({ do: "markRemoval", peer, removal: undefined }, { ...GIVEN, peers: [peer] });
    expect(back.peers[0]?.metadata.annotations).toEqual(THIRD!.metadata.annotations);
  });

  test("releaseClaim adds a finalizer to the existing ones, and deletePeer sets the deletion timestamp", () => {
    const peer = { ...THIRD!, metadata: { ...THIRD!.metadata, finalizers: ["mine"] } };
    const given = { ...GIVEN, peers: [peer] };
    const made = did({ do: "releaseClaim", peer, finalizer: CLEANUP_FINALIZER }, given).peers[0]!;
    expect(made.metadata.finalizers).toEqual(["mine", CLEANUP_FINALIZER]);
    expect(did({ do: "releaseClaim", peer: THIRD!, finalizer: "x" }).peers[2]?.metadata.finalizers).toEqual(["x"]);
    expect(did({ do: "deletePeer", peer }, given).peers[0]?.metadata.deletionTimestamp).toBe("2026-01-01T12:00:00Z");
  });

  test("restartPod: the member gets the release of its EtcdPeer", () => {
    const given = withPeer(GIVEN, "my-etcd-1", { spec: NEWER });
    const made = did({ do: "restartPod", name: "my-etcd-1", pod: given.pods.get("my-etcd-1")! }, given);
    expect([...made.pods.keys()]).toEqual(["my-etcd-0", "my-etcd-2"]);
    expect([0, 1, 2].map((n) => answer(made, `my-etcd-${n}`)?.version)).toEqual(["3.6.16", "3.6.17", "3.6.16"]);
  });

  test("restartPod: the member keeps an enabled downgrade unless its new release does not know it", () => {
    const given = begin(GIVEN).apply(downgrading).apply(withPeer, "my-etcd-1", { spec: BEFORE }).snapshot;
    const back = did({ do: "restartPod", name: "my-etcd-1", pod: given.pods.get("my-etcd-1")! }, given);
    expect([0, 1].map((n) => formatOf(back, `my-etcd-${n}`))).toEqual([
      ["3.6.16", "3.5.0", "3.5.0"],
      ["3.5.35", undefined, undefined],
    ]);
    const made = did({ do: "restartPod", name: "my-etcd-0", pod: given.pods.get("my-etcd-0")! }, given);
    expect(formatOf(made, "my-etcd-0")).toEqual(["3.6.16", "3.5.0", "3.5.0"]);
  });

  test("enableDowngrade converts the data of known releases, and cancelDowngrade restores the oldest release's format", () => {
    const mixed = begin(GIVEN)
      .apply(saying, "my-etcd-1", { version: "3.5.35" })
      .apply(saying, "my-etcd-2", { version: "mine" }).snapshot;
    const made = did({ do: "enableDowngrade", to: "3.5" }, mixed);
    expect([0, 1, 2].map((n) => formatOf(made, `my-etcd-${n}`))).toEqual([
      ["3.6.16", "3.5.0", "3.5.0"],
      ["3.5.35", ...formatOf(mixed, "my-etcd-1").slice(1)],
      ["mine", ...formatOf(mixed, "my-etcd-2").slice(1)],
    ]);
    const cancelled = did({ do: "cancelDowngrade", to: "3.5" }, made);
    // The cluster version is unknown when a member has a custom build.
    expect(formatOf(cancelled, "my-etcd-0")).toEqual(["3.6.16", undefined, "3.5.0"]);
    const format = (given: ClusterSnapshot) =>
      formatOf(did({ do: "cancelDowngrade", to: "3.5" }, downgrading(given)), "my-etcd-0")[2];
    expect(format(GIVEN)).toBe("3.6.0");
    expect(format(saying(GIVEN, "my-etcd-1", { version: "3.5.35" }))).toBe("3.5.0");
    expect(format(saying(GIVEN, "my-etcd-0", { version: "3.7.3" }))).toBe("3.6.0");
    const only = did({ do: "enableDowngrade", to: "3.5" }, cluster({ replicas: 1 }));
    expect(formatOf(did({ do: "cancelDowngrade", to: "3.5" }, only), "my-etcd-0")[2]).toBe("3.6.0");
  });

  test("addLearner: the learner is listed without a name under an unused ID", () => {
    const first = did({ do: "addLearner", name: "my-etcd-3", peerUrl: "http://x:2380" });
    const made = did({ do: "addLearner", name: "my-etcd-4", peerUrl: "http://y:2380" }, first);
    expect(listIn(made).members.slice(3)).toEqual([
      { id: 1n, name: "", peerUrls: ["http://x:2380"], clientUrls: [], isLearner: true },
      { id: 2n, name: "", peerUrls: ["http://y:2380"], clientUrls: [], isLearner: true },
    ]);
    const { members: _, ...others } = GIVEN;
    const unknown = { ...others, members: { is: "unknown", why: "" } } as const;
    expect(did({ do: "addLearner", name: "my-etcd-3", peerUrl: "" }, unknown)).toBe(unknown);
  });

  test("promote: only the promoted learner gets a vote", () => {
    const two = begin(GIVEN)
      .apply(withArrival, "my-etcd-3", "synced")
      .apply(withArrival, "my-etcd-4", "synced").snapshot;
    const learners = listIn(two).members.map((member, n) => (n === 4 ? { ...member, id: memberId(7n) } : member));
    const given = { ...two, members: present({ ...listIn(two), members: learners }) };
    const made = did({ do: "promote", name: "my-etcd-4", id: memberId(7n) }, given);
    expect(listIn(made).members.map(({ isLearner }) => isLearner)).toEqual([false, false, false, true, false]);
  });

  test("updateMember: only the named member gets the new peer URL", () => {
    const peerUrl = "https://my-etcd-1.my-etcd.foo.svc:2380";
    const made = did({ do: "updateMember", name: "my-etcd-1", id: ID(1), peerUrl });
    expect(listIn(made).members.map(({ peerUrls }) => peerUrls)).toEqual([
      ["http://my-etcd-0.my-etcd.foo.svc:2380"],
      [peerUrl],
      ["http://my-etcd-2.my-etcd.foo.svc:2380"],
    ]);
  });

  test("removeMember: the member is not listed and does not answer", () => {
    const given = unpublished(GIVEN, "my-etcd-2");
    const made = did({ do: "removeMember", name: "my-etcd-2", id: ID(2) }, given);
    expect(listIn(made).members.map(({ name }) => name)).toEqual(["my-etcd-0", "my-etcd-1"]);
    expect([made.endpoints.get("my-etcd-2")?.is, made.unpublished.size, made.pods.size]).toEqual(["unknown", 0, 3]);
    expect(made.endpoints.get("my-etcd-1")).toBe(given.endpoints.get("my-etcd-1"));
  });

  test("disarmAlarm: only one alarm of one member is disarmed", () => {
    const alarms = [0, 1].map((n) => ({ type: "CORRUPT", id: hexOf(ID(n)) }) as const);
    const full = { type: "NOSPACE", id: hexOf(ID(1)) } as const;
    const made = did({ do: "disarmAlarm", id: ID(1), type: "CORRUPT" }, withAlarms(GIVEN, ...alarms, full));
    expect(answer(made, "my-etcd-2")?.alarms).toEqual([
      { type: "CORRUPT", memberId: ID(0) },
      { type: "NOSPACE", memberId: ID(1) },
    ]);
  });

  test("moveLeader: all members that answer report the new leader", () => {
    const given = unpublished(GIVEN, "my-etcd-2");
    const made = did({ do: "moveLeader", from: "my-etcd-0", to: "my-etcd-1", id: ID(1) }, given);
    expect([0, 1, 2].map((n) => answer(made, `my-etcd-${n}`)?.leaderId)).toEqual([ID(1), ID(1), undefined]);
  });

  test("fallAsleep: the members are stopped and the sleep is recorded", () => {
    const made = did({ do: "fallAsleep" }, tired());
    expect(made.cluster.status?.sleep).toEqual({ startTime: "2026-01-01T12:00:00Z" });
    const { pods, endpoints, members, unpublished, histories } = arrived(sickFor(made, "my-etcd-0", 1));
    expect([pods.size, endpoints.size, unpublished.size, histories.size]).toEqual([0, 0, 0, 0]);
    expect(members).toEqual({ is: "unknown", why: "its members are stopped" });
  });

  test("wakeUp: all members are listed and answer with the releases of their EtcdPeers", () => {
    const made = did({ do: "wakeUp" }, wanted(asleep(), 1));
    expect(made.cluster.status?.sleep).toEqual({ ...SLEEP, wakeTime: "2026-01-01T12:00:00Z" });
    const now = arrived(made);
    const slept = listIn(cluster());
    expect(listIn(now)).toMatchObject({ clusterId: slept.clusterId, answeredBy: slept.members[0]!.id });
    expect(listIn(now).members).toEqual(slept.members);
    const said = [...now.endpoints.values()].map((answer) => (answer.is === "present" ? answer.value : undefined));
    expect(said.map((status) => status?.memberId)).toEqual(slept.members.map(({ id }) => id));
    const [{ id } = { id: undefined }] = slept.members;
    expect(said[0]).toEqual({
      ...{ clusterId: slept.clusterId, memberId: id, leaderId: id, version: "3.6.16", storageVersion: "3.6.0" },
      ...{ raftIndex: 1, raftAppliedIndex: 1, raftTerm: 1, isLearner: false, alarms: [], downgradeTo: undefined },
      ...{ dbSizeBytes: 1, dbSizeInUseBytes: 1, dbSizeQuotaBytes: undefined },
    });
    expect(now.members).toMatchObject({ value: { raftTerm: 1 } });
    const older = withPeer(made, "my-etcd-0", { spec: { version: "3.5.35" } });
    expect(arrived(older).endpoints.get("my-etcd-0")).toMatchObject({
      value: { version: "3.5.35", storageVersion: undefined },
    });
  });

  test("wakeUp: a learner stays a learner and is not the leader", () => {
    const { status } = asleep().cluster;
    const [first, ...others] = status!.members!;
    const members = [{ ...first!, role: "Learner" as const }, ...others];
    const given = wanted({ ...asleep(), cluster: { ...asleep().cluster, status: { ...status!, members } } }, 3);
    const now = arrived(did({ do: "wakeUp" }, given));
    expect(listIn(now).members[0]).toMatchObject({ isLearner: true, clientUrls: [expect.any(String)] });
    expect(now.endpoints.get("my-etcd-1")).toMatchObject({ value: { leaderId: listIn(now).members[1]!.id } });
  });

  test("wakeUp: a member with a custom build reports no storage version", () => {
    const made = withPeer(did({ do: "wakeUp" }, wanted(asleep(), 3)), "my-etcd-0", {
      spec: { version: "mine" },
    });
    expect(arrived(made).endpoints.get("my-etcd-0")).toMatchObject({ value: { storageVersion: undefined } });
  });

  test("wakeUp: a member that is already awake is unchanged", () => {
    const { endpoints } = arrived(woken({ down: ["my-etcd-1"] }));
    expect(endpoints.get("my-etcd-1")).toMatchObject({ value: { raftIndex: 10, dbSizeBytes: 20_480 } });
  });

  test("wakeUp: no member starts when the status has no members", () => {
    const bare = wanted(asleep(), 3);
    const { identity: _, members: __, ...status } = bare.cluster.status!;
    const given = { ...bare, cluster: { ...bare.cluster, status } };
    expect(arrived(given)).toEqual(given);
  });

  test("createTrustMap, replaceTrustMap: the ConfigMap with the CA bundle is created and changed", () => {
    const secure = secured();
    const [map, other] = ["", "other"].map((trust) => trustMap(secure, trust));
    const told = did({ do: "createTrustMap", map: map! }, secure);
    const live = told.certificates?.trustMap;
    if (live?.is !== "present") throw new Error("there is no ConfigMap");
    expect(live.value.data).toEqual({ "ca.crt": "" });
    const replaced = did({ do: "replaceTrustMap", live: live.value, map: other! }, told);
    expect(replaced.certificates?.trustMap).toMatchObject({ value: { data: { "ca.crt": "other" } } });
    expect(replaced.certificates?.peer).toBe(secure.certificates?.peer);
  });

  test("a PodMonitor is created, changed and deleted", () => {
    const made = did({ do: "createMonitor", monitor: podMonitor(asking) }, asking);
    expect(made.podMonitor).toMatchObject({ is: "present", value: { spec: MONITOR.spec } });
    const live = { ...MONITOR, metadata: { ...MONITOR.metadata, labels: { a: "1" } } };
    const changed = did({ do: "replaceMonitor", live, monitor: podMonitor(asking) }, made);
    expect(changed.podMonitor).toMatchObject({
      value: { metadata: { uid: MONITOR.metadata.uid, labels: { a: "1" } } },
    });
    expect(did({ do: "deleteMonitor", live }, changed).podMonitor).toEqual({ is: "absent" });
  });
});
