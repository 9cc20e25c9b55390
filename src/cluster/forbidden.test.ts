import { expect, test } from "vitest";
import { RESTORED_FROM } from "#api/names.ts";
import { DEFAULT_TLS } from "#api/tls.ts";
import { newPeer, revisedPeer } from "#cluster/desired/peer.ts";
import { keepQuorum } from "#cluster/guards/quorum.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { born, cluster, open, sickFor, withArrival, withoutMember, withRemoval } from "#kit/cluster.ts";
import { guarded, NO_USERS, PREPARED } from "#kit/cluster-auth.ts";
import { THEIRS, withDyingClaims, withMember, withStraggler, withUnfencedPod } from "#kit/cluster-changes.ts";
import { NEWER, OLD, wanting, withPeer, withTurn } from "#kit/cluster-rolling.ts";
import { tired } from "#kit/cluster-sleep.ts";
import { bundle, goingTo, OWN, secured, THEIRS as TLS_THEIRS, tlsSpec, withMade } from "#kit/cluster-tls.ts";
import type { Service } from "#kube/kinds.ts";

// What may never happen, whichever rule wants it. What each guard says of each kind of step: the test files in guards/.

const starting = cluster({ stage: "starting" });
const identity = starting.cluster.status!.identity!;
const foreignService = born<Service>({
  ...starting.headlessService!,
  metadata: { ...starting.headlessService!.metadata, ownerReferences: [] },
});
const lost = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);
const straggler = withStraggler(cluster({ down: ["my-etcd-2"] }), { started: false });

const alone = cluster({ replicas: 1 });

const draft = { apiVersion: "v1", kind: "Service", metadata: { name: "my-etcd" } } as const;
const recorded = cluster({ stage: "recorded" });
const newPeerStep: ClusterStep = planCluster(
  cluster({ stage: "recorded", with: { headlessService: starting.headlessService } }),
) as never;
const peerStep = (newPeerStep as unknown as { step: ClusterStep }).step;

const forbidden: { name: string; guard: string; given: ClusterSnapshot; step: ClusterStep }[] = [
  {
    name: "anything before the identity is on record",
    guard: "identity-first",
    given: cluster({ stage: "new" }),
    step: { do: "createService", service: draft },
  },
  { name: "a second identity", guard: "identity-first", given: recorded, step: { do: "recordIdentity", identity } },
  {
    name: "making a cluster of which nobody has said whether it speaks TLS",
    guard: "tls-is-said",
    given: open(cluster({ stage: "new" })),
    step: { do: "recordIdentity", identity },
  },
  {
    name: "writing TLS into the spec of a cluster that exists without",
    guard: "identity-first",
    given: open(recorded),
    step: { do: "writeTls", tls: DEFAULT_TLS },
  },
  {
    name: "writing TLS over what a person has said",
    guard: "tls-is-said",
    given: cluster({ stage: "new" }),
    step: { do: "writeTls", tls: DEFAULT_TLS },
  },
  {
    name: "beginning with nothing what is to begin with a backup",
    guard: "restored-first",
    given: cluster({ stage: "new", spec: { bootstrap: { fromBackup: { backupName: "nightly" } } } }),
    step: { do: "recordIdentity", identity },
  },
  {
    name: "beginning with nothing what a restore has made",
    guard: "restored-first",
    given: cluster({ stage: "new", annotations: { [RESTORED_FROM]: "uid-of-restore" } }),
    step: { do: "recordIdentity", identity },
  },
  { name: "bootstrapping a member that has joined", guard: "bootstrap-once", given: cluster(), step: peerStep },
  {
    name: "bootstrapping a member outside the frozen list",
    guard: "bootstrap-once",
    given: recorded,
    step: {
      do: "createPeer",
      peer: { ...(peerStep as never as { peer: typeof draft }).peer, metadata: { name: "my-etcd-7" } } as never,
    },
  },
  {
    name: "flags that no member may have",
    guard: "runnable-only",
    given: starting,
    step: {
      do: "createPeer",
      peer: ((draft) => ({ ...draft, spec: { ...draft.spec!, etcd: { extraArgs: { "data-dir": "/tmp" } } } }))(
        newPeer(starting, identity, "my-etcd-1"),
      ),
    },
  },
  {
    name: "recording a member as joined that has not answered",
    guard: "joined-is-seen",
    given: starting,
    step: { do: "recordJoined", names: ["my-etcd-0"] },
  },
  {
    name: "putting to sleep of whom members are wanted",
    guard: "sleep-is-asked",
    given: cluster(),
    step: { do: "fallAsleep" },
  },
  {
    name: "removing a member while nobody is wanted",
    guard: "sleep-keeps-members",
    given: tired({ replicas: 5 }),
    step: { do: "moveLeader", from: "my-etcd-0", to: "my-etcd-1", id: memberIdFromHex("1") },
  },
  {
    name: "changing what another owner manages",
    guard: "own-only",
    given: cluster(),
    step: { do: "replaceService", live: foreignService, service: draft },
  },
];

const [m0, m1, m2] = cluster().cluster.status!.identity!.initialMembers.map(({ name, id }) => ({
  name,
  id: memberIdFromHex(id),
}));
const outage = cluster({ down: ["my-etcd-1", "my-etcd-2"] });
const down1 = cluster({ down: ["my-etcd-1"] });
const arriving = withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "started");
forbidden.push(
  {
    name: "a change of membership without a member list",
    guard: "need-member-list",
    given: outage,
    step: { do: "removeMember", ...m2! },
  },
  {
    name: "giving a claim away without a member list",
    guard: "need-member-list",
    given: outage,
    step: { do: "deletePeer", peer: outage.peers[2]! },
  },
  {
    name: "removing a healthy member when the rest is no quorum",
    guard: "keep-quorum",
    given: cluster({ down: ["my-etcd-1"] }),
    step: { do: "removeMember", ...m0! },
  },
  {
    name: "removing the last member",
    guard: "keep-quorum",
    given: cluster({ replicas: 1 }),
    step: {
      do: "removeMember",
      name: "my-etcd-0",
      id: memberIdFromHex(cluster({ replicas: 1 }).cluster.status!.identity!.initialMembers[0]!.id),
    },
  },
  {
    name: "taking the last spare voter when three are wanted",
    guard: "keep-quorum",
    given: cluster(),
    step: { do: "removeMember", ...m1! },
  },
  {
    name: "taking a voter away that may be well, when it is the last spare one",
    guard: "keep-quorum",
    given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 4_000),
    step: { do: "removeMember", ...m1! },
  },
  {
    name: "a second learner",
    guard: "one-at-a-time",
    given: arriving,
    step: { do: "addLearner", name: "my-etcd-4", peerUrl: "http://my-etcd-4.my-etcd.foo.svc:2380" },
  },
  {
    name: "a removal while a member arrives",
    guard: "one-at-a-time",
    given: arriving,
    step: { do: "removeMember", ...m2! },
  },
  {
    name: "a second removal",
    guard: "one-at-a-time",
    given: withRemoval(cluster(), "my-etcd-1", "replacement"),
    step: { do: "markRemoval", peer: cluster().peers[2]!, removal: "scale-down" },
  },
  {
    name: "a vote for who is not fenced",
    guard: "fence-before-vote",
    given: arriving,
    step: { do: "promote", name: "my-etcd-3", id: memberIdFromHex("abcdef12345") },
  },
  {
    name: "letting go of a member that etcd lists",
    guard: "not-a-member",
    given: cluster(),
    step: { do: "releaseClaim", peer: cluster().peers[2]!, finalizer: "etcdpeer.etcd.improbable.io/pvc-quarantine" },
  },
  {
    name: "deleting the peer of a member that etcd lists",
    guard: "not-a-member",
    given: cluster(),
    step: { do: "deletePeer", peer: cluster().peers[2]! },
  },
  {
    name: "lowering the alarm of a member that is still there",
    guard: "alarm-is-over",
    given: cluster(),
    step: { do: "disarmAlarm", id: m1!.id, type: "CORRUPT" },
  },
  {
    name: "a removal while the kubelet calls the member ready",
    guard: "nobody-vouches",
    given: withRemoval({ ...lost, pods: cluster().pods }, "my-etcd-1", "replacement"),
    step: { do: "removeMember", ...m1! },
  },
  {
    name: "giving up somebody who takes part",
    guard: "nobody-vouches",
    given: cluster(),
    step: { do: "markRemoval", peer: cluster().peers[1]!, removal: "replacement" },
  },
  {
    name: "a first start after the cluster has formed without the member",
    guard: "bootstrap-once",
    given: withoutMember(straggler, "my-etcd-2"),
    step: { do: "createPeer", peer: straggler.peers[2]! },
  },
  {
    name: "letting a voter go as surplus when nobody asked for fewer",
    guard: "asked-to-delete",
    given: withMember(cluster(), THEIRS),
    step: { do: "markRemoval", peer: cluster().peers[2]!, removal: "scale-down" },
  },
  {
    name: "calling a member unused that may hold data",
    guard: "asked-to-delete",
    given: lost,
    step: { do: "markRemoval", peer: cluster().peers[1]!, removal: "never-started" },
  },
  {
    name: "a vote while the pod that runs could bootstrap",
    guard: "fence-before-vote",
    given: withUnfencedPod(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced"), "my-etcd-3"),
    step: { do: "promote", name: "my-etcd-3", id: memberIdFromHex("abcdef12345") },
  },
  {
    name: "restarting a healthy member when the rest is no quorum",
    guard: "restart-keeps-quorum",
    given: down1,
    step: { do: "restartPod", name: "my-etcd-2", pod: down1.pods.get("my-etcd-2")! },
  },
  {
    name: "ending the pod that alone keeps the data of a cluster of one, whose claim somebody has deleted",
    guard: "dying-claim-is-held",
    given: withDyingClaims(alone, "my-etcd-0"),
    step: { do: "restartPod", name: "my-etcd-0", pod: alone.pods.get("my-etcd-0")! },
  },
  {
    name: "restarting a member while nobody knows who else is one",
    guard: "need-member-list",
    given: outage,
    step: { do: "restartPod", name: "my-etcd-0", pod: outage.pods.get("my-etcd-0")! },
  },
  {
    name: "a restart with a release that the data cannot be taken to",
    guard: "version-path",
    given: withPeer(cluster(), "my-etcd-2", { spec: { version: "3.4.35" } }),
    step: { do: "restartPod", name: "my-etcd-2", pod: cluster().pods.get("my-etcd-2")! },
  },
  {
    name: "giving a member a release that its data cannot be taken to",
    guard: "version-path",
    given: cluster(),
    step: {
      do: "replacePeer",
      live: cluster().peers[2]!,
      peer: revisedPeer(cluster().peers[2]!, { ...OLD, version: "3.4.35" }, OLD),
    },
  },
  {
    name: "a restart with the minor before, while its data is of this one",
    guard: "downgrade-enabled",
    given: withPeer(cluster(), "my-etcd-2", { spec: { version: "3.5.35" } }),
    step: { do: "restartPod", name: "my-etcd-2", pod: cluster().pods.get("my-etcd-2")! },
  },
  {
    name: "a second turn",
    guard: "one-at-a-time",
    given: withTurn(wanting(NEWER), "my-etcd-1"),
    step: { do: "replacePeer", live: cluster().peers[2]!, peer: revisedPeer(cluster().peers[2]!, NEWER, OLD) },
  },
  {
    name: "deleting data that nobody asked to be deleted",
    guard: "asked-to-delete",
    given: withoutMember(cluster(), "my-etcd-2"),
    step: { do: "releaseClaim", peer: cluster().peers[2]!, finalizer: "etcdpeer.etcd.improbable.io/pvc-cleanup" },
  },
);

const secure = secured();
const [peerCA, peerPair] = [secure.certificates?.peerCA, secure.certificates?.peer];
if (peerCA?.is !== "present" || peerPair?.is !== "present") throw new Error("it has them");
const secureTls = secure.peers[0]!.spec.tls!;
const THEIR_PEER = { peer: { provider: "Secret", secret: { secretName: "their-peer" } } };
/** Members trust OWN, and show what another one has signed. */
const oldPair = withMade(secure, { peer: { by: TLS_THEIRS, trust: bundle(TLS_THEIRS, OWN) } });
const { tls: _, ...spec } = oldPair.cluster.spec;
const theirPeer = { peer: { provider: "Secret", secret: { secretName: "their-peer" } } };
const turned = withMade(goingTo(secure, theirPeer), { peer: { by: TLS_THEIRS, isOurs: false } });

/** Gives the first member this to show to the others, and whom it trusts. */
function givingPeer(snapshot: ClusterSnapshot, peer: { secretName: string; trust: string }): ClusterStep {
  const live = snapshot.peers[0]!;
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...OLD, tls: { ...live.spec.tls!, peer } }, OLD) };
}

forbidden.push(
  {
    name: "taking TLS away from a member",
    guard: "tls-stepwise",
    given: secure,
    step: { do: "replacePeer", live: secure.peers[0]!, peer: revisedPeer(secure.peers[0]!, OLD, OLD) },
  },
  {
    name: "having a Secret mounted that is not for EtcdClusters",
    guard: "allowed-secrets",
    given: { ...secure, cluster: { ...secure.cluster, spec: { ...secure.cluster.spec, tls: tlsSpec(THEIR_PEER) } } },
    step: {
      do: "replacePeer",
      live: secure.peers[0]!,
      peer: revisedPeer(
        secure.peers[0]!,
        { ...OLD, tls: { ...secureTls, peer: { ...secureTls.peer!, secretName: "their-peer" } } },
        OLD,
      ),
    },
  },
  {
    name: "signing by an authority that members do not trust",
    guard: "trusted-first",
    given: secure,
    step: {
      do: "issueLeaf",
      purpose: "peer",
      authority: { ...peerCA.value, fingerprint: "another" },
      facts: peerPair.value,
    },
  },
  {
    name: "dropping the authority before while what members show is its, also once spec.tls is taken away",
    guard: "trusted-first",
    given: { ...oldPair, cluster: { ...oldPair.cluster, spec: spec as never } },
    step: { do: "rotateAuthority", side: "peer", phase: "drop", facts: peerCA.value },
  },
  {
    name: "showing what the others do not believe yet",
    guard: "shown-when-trusted",
    given: turned,
    step: givingPeer(turned, { secretName: "their-peer", trust: bundle(OWN, TLS_THEIRS) }),
  },
  {
    name: "trusting nobody who has signed what members show",
    guard: "trust-kept",
    given: secure,
    step: givingPeer(secure, { secretName: "my-etcd-peer-tls", trust: bundle(TLS_THEIRS) }),
  },
  {
    name: "restarting a member whom the others would not believe any more",
    guard: "still-believed",
    given: withMade(secure, { peer: { by: TLS_THEIRS } }),
    step: { do: "restartPod", name: "my-etcd-2", pod: secure.pods.get("my-etcd-2")! },
  },
  {
    name: "making an authority where there is one",
    guard: "authority-kept",
    given: secure,
    step: { do: "issueAuthority", side: "peer", trust: "" },
  },
  { name: "asking for users unasked", guard: "auth-is-asked", given: secure, step: { do: "enableAuth" } },
  {
    name: "asking for users before the operator is one",
    guard: "administrator-first",
    given: guarded({ state: NO_USERS }),
    step: { do: "enableAuth" },
  },
  {
    name: "making an application an administrator by the operator's name",
    guard: "auth-is-asked",
    given: guarded({
      state: { ...PREPARED, operator: ["reader"] },
      user: "app",
      operators: ["app"],
      holders: { app: "app" },
    }),
    step: { do: "grantRole", user: "app", asRoot: false },
  },
  {
    name: "asking clients for no certificate while etcd asks for users",
    guard: "login-stays",
    given: guarded({ recorded: true }),
    step: { do: "replacePeer", live: secure.peers[0]!, peer: revisedPeer(secure.peers[0]!, OLD, OLD) },
  },
  {
    name: "writing a Secret of somebody else",
    guard: "own-only",
    given: secure,
    step: {
      do: "issueLeaf",
      purpose: "peer",
      authority: peerCA.value,
      facts: { ...peerPair.value, ownerUid: undefined },
    },
  },
);

test("cluster guards: each of them forbids something above", () => {
  expect(
    CLUSTER_GUARDS.map(({ name }) => name).filter((name) => !forbidden.some(({ guard }) => guard === name)),
  ).toEqual([]);
});

for (const { name, guard, given, step } of forbidden) {
  test(`cluster guards: ${guard} forbids ${name}`, () => {
    expect(CLUSTER_GUARDS.filter((each) => each.forbids(given, step) !== undefined).map((each) => each.name)).toContain(
      guard,
    );
  });
}

test("keep-quorum: to remove a voter that has been sick for a while takes nothing away", () => {
  const given = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 5_000);
  expect(keepQuorum.forbids(given, { do: "removeMember", ...m1! })).toBeUndefined();
});
