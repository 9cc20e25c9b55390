import { expect, test } from "vitest";
import { RESTORED_FROM } from "#api/names.ts";
import { DEFAULT_TLS } from "#api/tls.ts";
import { newPeer, revisedPeer } from "#cluster/members/desired/peer.ts";
import { keepQuorum } from "#cluster/members/guards.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { born, cluster, open, sickFor, withArrival, withoutMember, withRemoval } from "#kit/snapshots/cluster.ts";
import { guarded, NO_USERS, PREPARED } from "#kit/snapshots/cluster-auth.ts";
import { THEIRS, withDyingClaims, withMember, withStraggler, withUnfencedPod } from "#kit/snapshots/cluster-changes.ts";
import { NEWER, OLD, wanting, withPeer, withTurn } from "#kit/snapshots/cluster-rolling.ts";
import { tired } from "#kit/snapshots/cluster-sleep.ts";
import { bundle, goingTo, OWN, secured, THEIRS as TLS_THEIRS, tlsSpec, withMade } from "#kit/snapshots/cluster-tls.ts";
import type { Service } from "#kube/kinds.ts";
import { CLUSTER_GUARDS } from "./guards.ts";
import { planCluster } from "./plan.ts";
import type { ClusterSnapshot } from "./snapshot.ts";
import type { ClusterStep } from "./step.ts";

// Steps that are always forbidden, whichever rule proposes them. Each guard's own cases are in the test file beside it.

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
    name: "creating a Service before the identity is recorded",
    guard: "identity-first",
    given: cluster({ stage: "new" }),
    step: { do: "createService", service: draft },
  },
  {
    name: "recording an identity of another namespace",
    guard: "identity-is-here",
    given: cluster({ stage: "new" }),
    step: { do: "recordIdentity", identity: { ...identity, token: "prod/my-etcd/uid" } },
  },
  {
    name: "recording a second identity",
    guard: "identity-first",
    given: recorded,
    step: { do: "recordIdentity", identity },
  },
  {
    name: "recording an identity before spec.tls is set",
    guard: "tls-is-decided",
    given: open(cluster({ stage: "new" })),
    step: { do: "recordIdentity", identity },
  },
  {
    name: "writing default TLS into an existing cluster",
    guard: "identity-first",
    given: open(recorded),
    step: { do: "writeTls", tls: DEFAULT_TLS },
  },
  {
    name: "writing default TLS over a spec.tls that a user set",
    guard: "tls-is-decided",
    given: cluster({ stage: "new" }),
    step: { do: "writeTls", tls: DEFAULT_TLS },
  },
  {
    name: "an empty start of a cluster with spec.bootstrap",
    guard: "restored-first",
    given: cluster({ stage: "new", spec: { bootstrap: { fromBackup: { source: { backupName: "nightly" } } } } }),
    step: { do: "recordIdentity", identity },
  },
  {
    name: "an empty start of a restored cluster",
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
    name: "creating an EtcdPeer with a flag that the operator reserves",
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
    name: "recording a member that has not answered as joined",
    guard: "joined-is-seen",
    given: starting,
    step: { do: "recordJoined", names: ["my-etcd-0"] },
  },
  {
    name: "putting a cluster with spec.replicas 3 to sleep",
    guard: "sleep-is-asked",
    given: cluster(),
    step: { do: "fallAsleep" },
  },
  {
    name: "a leader transfer while spec.replicas is 0",
    guard: "sleep-keeps-members",
    given: tired({ replicas: 5 }),
    step: { do: "moveLeader", from: "my-etcd-0", to: "my-etcd-1", id: memberIdFromHex("1") },
  },
  {
    name: "a change of an object with another owner",
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
    name: "a membership change without a member list",
    guard: "need-member-list",
    given: outage,
    step: { do: "removeMember", ...m2! },
  },
  {
    name: "deleting an EtcdPeer without a member list",
    guard: "need-member-list",
    given: outage,
    step: { do: "deletePeer", peer: outage.peers[2]! },
  },
  {
    name: "removing a healthy member when the rest has no quorum",
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
    name: "removing the last spare voter when spec.replicas is 3",
    guard: "keep-quorum",
    given: cluster(),
    step: { do: "removeMember", ...m1! },
  },
  {
    name: "removing the last spare voter when it has been sick for less than five seconds",
    guard: "keep-quorum",
    given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 4_000),
    step: { do: "removeMember", ...m1! },
  },
  {
    name: "adding a second learner",
    guard: "one-at-a-time",
    given: arriving,
    step: { do: "addLearner", name: "my-etcd-4", peerUrl: "http://my-etcd-4.my-etcd.foo.svc:2380" },
  },
  {
    name: "removing a member while another member is joining",
    guard: "one-at-a-time",
    given: arriving,
    step: { do: "removeMember", ...m2! },
  },
  {
    name: "recording a second removal",
    guard: "one-at-a-time",
    given: withRemoval(cluster(), "my-etcd-1", "replacement"),
    step: { do: "markRemoval", peer: cluster().peers[2]!, removal: "scale-down" },
  },
  {
    name: "promoting a member with an unfenced EtcdPeer",
    guard: "fence-before-vote",
    given: arriving,
    step: { do: "promote", name: "my-etcd-3", id: memberIdFromHex("abcdef12345") },
  },
  {
    name: "releasing the claim of a listed member",
    guard: "not-a-member",
    given: cluster(),
    step: { do: "releaseClaim", peer: cluster().peers[2]!, finalizer: "etcdpeer.etcd.improbable.io/pvc-quarantine" },
  },
  {
    name: "deleting the EtcdPeer of a listed member",
    guard: "not-a-member",
    given: cluster(),
    step: { do: "deletePeer", peer: cluster().peers[2]! },
  },
  {
    name: "disarming the alarm of a listed member",
    guard: "alarm-is-over",
    given: cluster(),
    step: { do: "disarmAlarm", id: m1!.id, type: "CORRUPT" },
  },
  {
    name: "removing a lost member while its pod is Ready",
    guard: "no-sign-of-life",
    given: withRemoval({ ...lost, pods: cluster().pods }, "my-etcd-1", "replacement"),
    step: { do: "removeMember", ...m1! },
  },
  {
    name: "recording the replacement of a participating member",
    guard: "no-sign-of-life",
    given: cluster(),
    step: { do: "markRemoval", peer: cluster().peers[1]!, removal: "replacement" },
  },
  {
    name: "bootstrapping a member that the formed cluster does not list",
    guard: "bootstrap-once",
    given: withoutMember(straggler, "my-etcd-2"),
    step: { do: "createPeer", peer: straggler.peers[2]! },
  },
  {
    name: "a scale-down below spec.replicas",
    guard: "asked-to-delete",
    given: withMember(cluster(), THEIRS),
    step: { do: "markRemoval", peer: cluster().peers[2]!, removal: "scale-down" },
  },
  {
    name: "marking a member that may hold data as never started",
    guard: "asked-to-delete",
    given: lost,
    step: { do: "markRemoval", peer: cluster().peers[1]!, removal: "never-started" },
  },
  {
    name: "promoting a member with an unfenced pod",
    guard: "fence-before-vote",
    given: begin(cluster({ spec: { replicas: 5 } }))
      .apply(withArrival, "my-etcd-3", "synced")
      .apply(withUnfencedPod, "my-etcd-3").snapshot,
    step: { do: "promote", name: "my-etcd-3", id: memberIdFromHex("abcdef12345") },
  },
  {
    name: "restarting a healthy member when the rest has no quorum",
    guard: "restart-keeps-quorum",
    given: down1,
    step: { do: "restartPod", name: "my-etcd-2", pod: down1.pods.get("my-etcd-2")! },
  },
  {
    name: "stopping the only pod while its claim is being deleted",
    guard: "dying-claim-is-held",
    given: withDyingClaims(alone, "my-etcd-0"),
    step: { do: "restartPod", name: "my-etcd-0", pod: alone.pods.get("my-etcd-0")! },
  },
  {
    name: "a restart without a member list",
    guard: "need-member-list",
    given: outage,
    step: { do: "restartPod", name: "my-etcd-0", pod: outage.pods.get("my-etcd-0")! },
  },
  {
    name: "a restart with a release that has no version path",
    guard: "version-path",
    given: withPeer(cluster(), "my-etcd-2", { spec: { version: "3.4.35" } }),
    step: { do: "restartPod", name: "my-etcd-2", pod: cluster().pods.get("my-etcd-2")! },
  },
  {
    name: "a template with a release that has no version path",
    guard: "version-path",
    given: cluster(),
    step: {
      do: "replacePeer",
      live: cluster().peers[2]!,
      peer: revisedPeer(cluster().peers[2]!, { ...OLD, version: "3.4.35" }, OLD),
    },
  },
  {
    name: "a restart with the previous minor before the data is converted",
    guard: "downgrade-enabled",
    given: withPeer(cluster(), "my-etcd-2", { spec: { version: "3.5.35" } }),
    step: { do: "restartPod", name: "my-etcd-2", pod: cluster().pods.get("my-etcd-2")! },
  },
  {
    name: "giving a second member a pending restart",
    guard: "one-at-a-time",
    given: withTurn(wanting(NEWER), "my-etcd-1"),
    step: { do: "replacePeer", live: cluster().peers[2]!, peer: revisedPeer(cluster().peers[2]!, NEWER, OLD) },
  },
  {
    name: "deleting the claim of a member without a recorded removal",
    guard: "asked-to-delete",
    given: withoutMember(cluster(), "my-etcd-2"),
    step: { do: "releaseClaim", peer: cluster().peers[2]!, finalizer: "etcdpeer.etcd.improbable.io/pvc-cleanup" },
  },
);

const secure = secured();
const [peerCA, peerPair] = [secure.certificates?.peerCA, secure.certificates?.peer];
if (peerCA?.is !== "present" || peerPair?.is !== "present") throw new Error("the certificates are missing");
const secureTls = secure.peers[0]!.spec.tls!;
const THEIR_PEER = { peer: { provider: "Secret", secret: { name: "their-peer" } } };
/** Members trust OWN, and have a certificate of another CA. */
const oldPair = withMade(secure, { peer: { by: TLS_THEIRS, trust: bundle(TLS_THEIRS, OWN) } });
const { tls: _, ...spec } = oldPair.cluster.spec;
const theirPeer = { peer: { provider: "Secret", secret: { name: "their-peer" } } };
const turned = begin(secure)
  .apply(goingTo, theirPeer)
  .apply(withMade, { peer: { by: TLS_THEIRS, isOurs: false } }).snapshot;

/** The step that gives the first member this Secret and CA bundle. */
function givingPeer(snapshot: ClusterSnapshot, peer: { secretName: string; trust: string }): ClusterStep {
  const live = snapshot.peers[0]!;
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...OLD, tls: { ...live.spec.tls!, peer } }, OLD) };
}

forbidden.push(
  {
    name: "removing TLS from a member in one step",
    guard: "tls-stepwise",
    given: secure,
    step: { do: "replacePeer", live: secure.peers[0]!, peer: revisedPeer(secure.peers[0]!, OLD, OLD) },
  },
  {
    name: "mounting a Secret without consent",
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
    name: "issuing a certificate from a CA that members do not trust",
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
    name: "dropping a CA with certificates in use, also after spec.tls was removed",
    guard: "trusted-first",
    given: { ...oldPair, cluster: { ...oldPair.cluster, spec: spec as never } },
    step: { do: "rotateAuthority", side: "peer", phase: "drop", facts: peerCA.value },
  },
  {
    name: "giving a member a peer certificate that other members do not trust yet",
    guard: "certificate-is-trusted",
    given: turned,
    step: givingPeer(turned, { secretName: "their-peer", trust: bundle(OWN, TLS_THEIRS) }),
  },
  {
    name: "giving a member a CA bundle without the CA of peer certificates in use",
    guard: "trust-kept",
    given: secure,
    step: givingPeer(secure, { secretName: "my-etcd-peer-tls", trust: bundle(TLS_THEIRS) }),
  },
  {
    name: "restarting a member with a peer certificate that other members would reject",
    guard: "members-trust-each-other",
    given: withMade(secure, { peer: { by: TLS_THEIRS } }),
    step: { do: "restartPod", name: "my-etcd-2", pod: secure.pods.get("my-etcd-2")! },
  },
  {
    name: "creating a second CA",
    guard: "authority-kept",
    given: secure,
    step: { do: "issueAuthority", side: "peer", trust: "" },
  },
  {
    name: "enabling authentication when spec.auth does not ask for it",
    guard: "auth-is-asked",
    given: secure,
    step: { do: "enableAuth" },
  },
  {
    name: "enabling authentication before the operator is an administrator",
    guard: "administrator-first",
    given: guarded({ state: NO_USERS }),
    step: { do: "enableAuth" },
  },
  {
    name: "granting the root role to the user of an EtcdUser",
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
    name: "a template without client certificates while authentication is on",
    guard: "login-stays",
    given: guarded({ recorded: true }),
    step: { do: "replacePeer", live: secure.peers[0]!, peer: revisedPeer(secure.peers[0]!, OLD, OLD) },
  },
  {
    name: "writing a Secret with another owner",
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

test("cluster guards: each guard forbids a step in this file", () => {
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

test("keep-quorum: a voter that has been sick for a while may be removed", () => {
  const given = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 5_000);
  expect(keepQuorum.forbids(given, { do: "removeMember", ...m1! })).toBeUndefined();
});
