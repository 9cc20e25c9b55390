import { expect, test } from "vitest";
import { CLEANUP_FINALIZER, QUARANTINE_FINALIZER, REMOVAL_ANNOTATION } from "#api/names.ts";
import { templateIn } from "#api/revision.ts";
import { DEFAULT_TLS } from "#api/tls.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { present, unknown } from "#base/observed.ts";
import type { Phase } from "#cluster/certificates/rotation.ts";
import { memberTls } from "#cluster/certificates.ts";
import { certificateRequest, trustMap } from "#cluster/desired/certificates.ts";
import { disruptionBudget } from "#cluster/desired/disruption-budget.ts";
import { firstBackup } from "#cluster/desired/first-backup.ts";
import { networkPolicy } from "#cluster/desired/network-policy.ts";
import { fencedPeer, intendedPeer, joiningPeer, newPeer, revisedPeer } from "#cluster/desired/peer.ts";
import { podMonitor } from "#cluster/desired/pod-monitor.ts";
import { restoreFor } from "#cluster/desired/restore.ts";
import { clientService } from "#cluster/desired/services.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import {
  type Arrival,
  born,
  changedPeer,
  claim,
  claimIdentity,
  cluster,
  endpointStatus,
  LATER_ID,
  open,
  pod,
  sickFor,
  unpublished,
  withArrival,
  withoutMember,
  withRemoval,
} from "#kit/cluster.ts";
import { guarded, NO_USERS, OPERATOR_USER, PREPARED, ROOT_SECRET, withAuth } from "#kit/cluster-auth.ts";
import {
  stranger,
  THEIRS,
  withEachMember,
  withJoined,
  withMember,
  withStraggler,
  withUnboundLearner,
} from "#kit/cluster-changes.ts";
import {
  madeFrom,
  NEWER,
  OLD,
  ON_DELETE,
  recording,
  answering as saying,
  wanting,
  withCrashing,
  withPeer,
  withTurn,
  saying as words,
} from "#kit/cluster-rolling.ts";
import { asleep, tired, wanted } from "#kit/cluster-sleep.ts";
import { HAS, switching, turnedTo, WITHOUT } from "#kit/cluster-switch.ts";
import {
  bundle,
  goingTo,
  listedBy,
  made,
  NEXT,
  OWN,
  running,
  THEIRS as SOMEBODY,
  secured,
  tlsSpec,
  unissued,
  withMade,
  withSeen,
} from "#kit/cluster-tls.ts";
import { etcdBackupSchedule } from "#kit/schedule.ts";
import type { Draft, NetworkPolicy, Pod, PodDisruptionBudget, Service } from "#kube/kinds.ts";

const settled = cluster();
const identity = settled.cluster.status!.identity!;
const [m0, m1, m2] = identity.initialMembers.map(({ name, id }) => ({ name, id: memberIdFromHex(id) }));
const learner = { name: "my-etcd-3", id: memberIdFromHex(LATER_ID) };

/** The snapshot in which this member answers. */
function answering(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const id = identity.initialMembers.find((member) => member.name === name)!.id;
  const status = endpointStatus(identity.clusterID, id, id);
  return { ...snapshot, endpoints: new Map([...snapshot.endpoints, [name, present(status)]]) };
}

function peerOf(snapshot: ClusterSnapshot, name: string): EtcdPeer {
  return snapshot.peers.find(({ metadata }) => metadata.name === name)!;
}

function asking(snapshot: ClusterSnapshot, spec: Partial<ClusterSnapshot["cluster"]["spec"]>): ClusterSnapshot {
  return { ...snapshot, cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, ...spec } } };
}

const FROM_BACKUP = { bootstrap: { fromBackup: { backupName: "nightly" } } };
const unjoined = { ...identity, initialMembers: identity.initialMembers.map((each) => ({ ...each, joined: false })) };
const partly = {
  ...identity,
  initialMembers: identity.initialMembers.map((each, n) => ({ ...each, joined: n === 0 })),
};

const certified = secured();
const seenOf = (snapshot: ClusterSnapshot, purpose: "peerCA" | "peer" | "server") => {
  const found = snapshot.certificates?.[purpose];
  if (found?.is !== "present") throw new Error("it is there");
  return found.value;
};
const [ownCA, ownLeaf] = [seenOf(certified, "peerCA"), seenOf(certified, "peer")];
const request = certificateRequest(certified, "peer");
const clientsMap = trustMap(certified, "");

/** One step of every kind, each about what is there. */
const STEPS: { readonly [Kind in ClusterStep["do"]]: Extract<ClusterStep, { do: Kind }> } = {
  writeTls: { do: "writeTls", tls: DEFAULT_TLS },
  recordIdentity: { do: "recordIdentity", identity },
  handOut: { do: "handOut", source: ownLeaf, facts: ownLeaf, trust: "" },
  recordJoined: { do: "recordJoined", names: ["my-etcd-0"] },
  createRestore: { do: "createRestore", restore: restoreFor(settled, { backupName: "nightly" }) },
  fallAsleep: { do: "fallAsleep" },
  wakeUp: { do: "wakeUp" },
  createService: { do: "createService", service: clientService(settled) },
  replaceService: { do: "replaceService", live: settled.clientService!, service: clientService(settled) },
  createBudget: { do: "createBudget", budget: disruptionBudget(settled) },
  replaceBudget: { do: "replaceBudget", live: settled.budget!, budget: disruptionBudget(settled) },
  deleteBudget: { do: "deleteBudget", live: settled.budget! },
  createNetworkPolicy: { do: "createNetworkPolicy", policy: networkPolicy(settled) },
  replaceNetworkPolicy: {
    do: "replaceNetworkPolicy",
    live: born(networkPolicy(settled)),
    policy: networkPolicy(settled),
  },
  deleteNetworkPolicy: { do: "deleteNetworkPolicy", live: born(networkPolicy(settled)) },
  createMonitor: { do: "createMonitor", monitor: podMonitor(settled) },
  replaceMonitor: { do: "replaceMonitor", live: born(podMonitor(settled)), monitor: podMonitor(settled) },
  deleteMonitor: { do: "deleteMonitor", live: born(podMonitor(settled)) },
  issueAuthority: { do: "issueAuthority", side: "peer", trust: "" },
  rotateAuthority: { do: "rotateAuthority", side: "peer", phase: "add", facts: ownCA },
  issueLeaf: { do: "issueLeaf", purpose: "peer", authority: ownCA, facts: ownLeaf },
  spreadTrust: { do: "spreadTrust", purpose: "peer", authority: ownCA, facts: ownLeaf },
  createTrustMap: { do: "createTrustMap", map: clientsMap },
  replaceTrustMap: { do: "replaceTrustMap", live: born(clientsMap), map: clientsMap },
  createRequest: { do: "createRequest", purpose: "peer", request },
  replaceRequest: { do: "replaceRequest", purpose: "peer", live: born(request), request },
  createRootSecret: { do: "createRootSecret" },
  setRootPassword: { do: "setRootPassword", secret: ROOT_SECRET, isNew: false },
  addUser: { do: "addUser", user: OPERATOR_USER, asRoot: false },
  grantRole: { do: "grantRole", user: OPERATOR_USER, asRoot: false },
  enableAuth: { do: "enableAuth" },
  disableAuth: { do: "disableAuth", asRoot: false },
  createPeer: { do: "createPeer", peer: fencedPeer(settled, identity, "my-etcd-0") },
  replacePeer: { do: "replacePeer", live: settled.peers[0]!, peer: fencedPeer(settled, identity, "my-etcd-0") },
  createBackup: { do: "createBackup", backup: firstBackup(settled, etcdBackupSchedule()) },
  restartPod: { do: "restartPod", name: "my-etcd-2", pod: settled.pods.get("my-etcd-2")! },
  stopUpdate: { do: "stopUpdate", name: "my-etcd-2", message: "it ended" },
  markRemoval: { do: "markRemoval", peer: settled.peers[2]!, removal: "replacement" },
  releaseClaim: { do: "releaseClaim", peer: settled.peers[2]!, finalizer: CLEANUP_FINALIZER },
  deletePeer: { do: "deletePeer", peer: settled.peers[2]! },
  addLearner: { do: "addLearner", name: "my-etcd-3", peerUrl: "http://my-etcd-3.my-etcd.foo.svc:2380" },
  promote: { do: "promote", ...learner },
  updateMember: {
    do: "updateMember",
    name: "my-etcd-2",
    id: 3n as never,
    peerUrl: "https://my-etcd-2.my-etcd.foo.svc:2380",
  },
  removeMember: { do: "removeMember", ...m2! },
  disarmAlarm: { do: "disarmAlarm", id: learner.id, type: "NOSPACE" },
  enableDowngrade: { do: "enableDowngrade", to: "3.5" },
  cancelDowngrade: { do: "cancelDowngrade", to: "3.5" },
  moveLeader: { do: "moveLeader", from: m0!.name, to: m1!.name, id: m1!.id },
};

const lost = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);

function replacing(snapshot: ClusterSnapshot): ClusterStep {
  return { do: "markRemoval", peer: peerOf(snapshot, "my-etcd-1"), removal: "replacement" };
}

/** Two first members have joined; the third has not, as far as is on record, and does not answer. */
function straggling(given: { listed: boolean; started: boolean }): ClusterSnapshot {
  const straggler = withStraggler(cluster({ down: ["my-etcd-2"] }), given);
  return given.listed ? straggler : withoutMember(straggler, "my-etcd-2");
}

/** The restart of a member whose container runs, or has ended again and again. */
function restarting(snapshot: ClusterSnapshot, name: string): ClusterStep {
  return { do: "restartPod", name, pod: snapshot.pods.get(name)! };
}

/** Gives this to a member, which it would have to restart for. */
function giving(snapshot: ClusterSnapshot, name: string, version = NEWER.version): ClusterStep {
  const live = peerOf(snapshot, name);
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...OLD, version }, OLD) };
}

/** The same of a member that goes on speaking TLS as it does. */
function givingAll(snapshot: ClusterSnapshot, name: string): ClusterStep {
  const { tls } = peerOf(snapshot, name).spec;
  const live = peerOf(snapshot, name);
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...OLD, version: NEWER.version, tls: tls! }, OLD) };
}

/** The snapshot with this pod, or none, for the member that joins. */
function withPod(snapshot: ClusterSnapshot, its: Pod | undefined): ClusterSnapshot {
  const others = [...snapshot.pods].filter(([name]) => name !== learner.name);
  return { ...snapshot, pods: new Map(its === undefined ? others : [...others, [learner.name, its]]) };
}

function fiveDown(down: readonly string[]): ClusterSnapshot {
  return cluster({ replicas: 5, down });
}

const five1Down = fiveDown(["my-etcd-1"]);
const five1DownTurned = withTurn(five1Down, "my-etcd-2", NEWER);
const turned = withTurn(wanting(NEWER), "my-etcd-1");
const asked = withTurn(wanting(NEWER, { spec: ON_DELETE }), "my-etcd-1");

function arrivingPeer(stage: Arrival): EtcdPeer {
  return peerOf(withArrival(settled, learner.name, stage), learner.name);
}

interface Case {
  readonly name: string;
  readonly given: ClusterSnapshot;
  readonly step: ClusterStep;
  readonly is: "forbidden" | "allowed";
}

function creating(spec: EtcdPeer["spec"] | undefined, name = "my-etcd-0"): ClusterStep {
  const { peer } = STEPS.createPeer;
  return { do: "createPeer", peer: { ...peer, metadata: { ...peer.metadata, name }, spec } } as ClusterStep;
}

/** The first member is down, and ran what nobody else runs any more. */
function lastOf(version: string): ClusterSnapshot {
  return recording(saying(cluster({ down: ["my-etcd-0"] }), undefined, "3.7.1", "3.7.1"), version, "3.7.1", "3.7.1");
}

/** The last one says that its data can be read by etcd 3.5. */
const converted = words(settled, "my-etcd-2", { downgradeTo: "3.5.0", storageVersion: "3.5.0" });
const sentBack = withPeer(settled, "my-etcd-2", { spec: { version: "3.5.35" } });

/** Nothing runs in the pod of the last one. */
const crashing = withCrashing(cluster({ down: ["my-etcd-2"] }), "my-etcd-2");

const STOPPED: Case = {
  name: "without a member list a pod in which nothing runs may be made anew",
  given: withoutList(crashing),
  step: restarting(crashing, "my-etcd-2"),
  is: "allowed",
};

/** What each guard says of a step, whatever the other guards say. */
const HARMFUL = { "force-new-cluster": "true" };

function withFlags(peer: Draft<EtcdPeer>, extraArgs: Readonly<Record<string, string>>): Draft<EtcdPeer> {
  return withOptions(peer, { extraArgs });
}

function withOptions(peer: Draft<EtcdPeer>, etcd: object): Draft<EtcdPeer> {
  return { ...peer, spec: { ...peer.spec!, etcd } };
}

const tiredOut = tired();

/** Gives the first member's EtcdPeer this of TLS. */
function speaking(snapshot: ClusterSnapshot, tls: NonNullable<EtcdPeer["spec"]["tls"]> | undefined): ClusterStep {
  const live = peerOf(snapshot, "my-etcd-0");
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...OLD, ...(tls === undefined ? {} : { tls }) }, OLD) };
}

/** The same for one that is made. */
function bornSpeaking(snapshot: ClusterSnapshot, tls: EtcdPeer["spec"]["tls"]): ClusterStep {
  const { tls: _, ...spec } = peerOf(snapshot, "my-etcd-0").spec;
  return creating({ ...spec, ...(tls === undefined ? {} : { tls }) }, "my-etcd-3");
}

/** The first member, as it is there, gets this by now. */
function given0(snapshot: ClusterSnapshot, tls: EtcdPeer["spec"]["tls"]): ClusterStep {
  const live = peerOf(snapshot, "my-etcd-0");
  const { tls: _, ...template } = templateIn(live.spec);
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...template, ...(tls && { tls }) }, undefined) };
}

const lastBoth = switching({}, ["both", "both", "both"]);
const oneReached = switching({}, ["both", "both", "reached"]);
const backAgain = switching(WITHOUT, ["both", "both", "both"]);
const bootstrapping: ClusterSnapshot = {
  ...lastBoth,
  peers: lastBoth.peers.map((peer, n) =>
    n > 0
      ? peer
      : { ...peer, spec: { ...peer.spec, bootstrap: newPeer(settled, identity, "my-etcd-0").spec!.bootstrap! } },
  ),
};

function listing(scheme: "http" | "https"): ClusterStep {
  const id = memberIdFromHex(identity.initialMembers[2]!.id);
  return { do: "updateMember", name: "my-etcd-2", id, peerUrl: `${scheme}://my-etcd-2.my-etcd.foo.svc:2380` };
}

function restartingLast(snapshot: ClusterSnapshot): ClusterStep {
  return { do: "restartPod", name: "my-etcd-2", pod: snapshot.pods.get("my-etcd-2")! };
}

const tlsOfAll = peerOf(certified, "my-etcd-0").spec.tls!;
const nobody = unissued({ stage: "recorded" });
const both = bundle(OWN, NEXT);
const withNext = withMade(certified, { peerCA: { next: NEXT }, peer: { trust: both } });
const trusting = running(withNext);
/** The next one signs by now, and the one before is still trusted. */
const switched = withMade(trusting, { peerCA: { by: NEXT, trust: both } });
const replaced = withMade(switched, { peer: { by: NEXT, trust: both } });
const lastTrusts = running(withNext, ["my-etcd-1", "my-etcd-2"]);
const swapped = withMade(certified, { peerCA: { by: NEXT } });
const noAuthority = withSeen(certified, { peerCA: { is: "absent" } });
const theirSecret = withMade(certified, { peer: { isOurs: false } });
const brokenCA = withMade(certified, { peerCA: { trouble: "its tls.key is not the key of its tls.crt" } });

/** Members show each other what somebody else has signed. */
const doubted = withMade(certified, { peer: { by: NEXT } });
const theirPeer = tlsSpec({ peer: { provider: "Secret", secret: { secretName: "their-peer" } } });
const doubtedElsewhere = withMade(asking(certified, { tls: theirPeer }), { peer: { by: NEXT } });
const unshown = withSeen(certified, { peer: { is: "absent" } });
const unserved = withSeen(certified, { server: { is: "absent" } });
const halved = withMade(certified, { peer: { trouble: "it has no tls.key" } });
const justMade = withMade(certified, { peer: { knownForMs: 149_999 } });
const longMade = withMade(certified, { peer: { knownForMs: 150_000 } });
const doubtedDown = withMade(secured({ down: ["my-etcd-2"] }), { peer: { by: NEXT } });

const secret = { serverSecretName: "their-server", operatorClientSecretName: "their-operator" };
const BROUGHT = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: { provider: "Secret", secret },
};
const brought = secured({}, BROUGHT, { isOurs: false });
const bring = unissued({ stage: "recorded" }, BROUGHT);
const broughtFirst = withMade(bring, { peer: { isOurs: false }, server: { isOurs: false } });
const withheldFirst = withMade(broughtFirst, { peer: { isOurs: false, mayBeShown: false } });

/** The first member gets what somebody else has brought, in these Secrets. */
function broughtIn(secretName = "their-peer"): ClusterStep {
  const { peer, client } = memberTls(broughtFirst)!;
  return bornSpeaking(certified, { client: client!, peer: { ...peer!, secretName } });
}

/** Members are to show what somebody else brings; nobody trusts that yet, or all do. */
const leaving = withMade(goingTo(certified, { peer: { provider: "Secret", secret: { secretName: "their-peer" } } }), {
  peer: { by: SOMEBODY, isOurs: false },
});
const ofBoth = bundle(OWN, SOMEBODY);
const shows = (secretName: string, trust: string) => ({ ...tlsOfAll, peer: { secretName, trust } });
const turnedTrusting = running(leaving, undefined, shows("my-etcd-peer-tls", ofBoth));
const lastTurns = withMade(running(turnedTrusting, ["my-etcd-2"], shows("their-peer", ofBoth)), {});
/** Its EtcdPeer says the new one, and its pod shows the former one. */
const aboutToTurn = { ...lastTurns, pods: turnedTrusting.pods };
const turnedClients = withMade(
  goingTo(certified, {
    client: {
      provider: "Secret",
      secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
    },
  }),
  { server: { by: SOMEBODY, isOurs: false }, operator: { by: SOMEBODY, isOurs: false } },
);
const clientsOf = (secretName: string, trust: string) => ({
  ...tlsOfAll,
  client: { secretName, trust, verifyClients: true },
});
const clientsTrusting = running(turnedClients, undefined, clientsOf("my-etcd-server-tls", ofBoth));

/** Clients need not show anything. */
function notAsking(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { tls } = snapshot.cluster.spec;
  return asking(snapshot, { tls: { ...tls!, client: { ...tls!.client, verifyClients: false } } });
}

/** This is seen of what members show to each other, and is not asked for any more. */
function withFormer(snapshot: ClusterSnapshot, peer: { is: "absent" }): ClusterSnapshot {
  const { certificates } = snapshot;
  return { ...snapshot, certificates: { ...certificates, former: { ...certificates?.former, peer } } };
}

/** Gives applications what this authority has signed. */
function handing(by: typeof NEXT, isFirst = false): ClusterStep {
  const source = made(certified, "application", { by });
  return { do: "handOut", source, facts: isFirst ? undefined : seenOf(certified, "server"), trust: "" };
}

/** People have brought what members show, and the operator is to issue it again; members do not trust it yet. */
const broughtPeer = secured(
  {},
  { peer: { provider: "Secret", secret: { secretName: "their-peer" } } },
  { by: SOMEBODY },
);
const turnedBack = withMade(goingTo(broughtPeer, {}), { peerCA: {}, peer: {} });

function rotating(snapshot: ClusterSnapshot, phase: Phase): ClusterStep {
  return { do: "rotateAuthority", side: "peer", phase, facts: seenOf(snapshot, "peerCA") };
}

/** A new pair by the authority that is there. */
function issuing(snapshot: ClusterSnapshot, given: object = {}): ClusterStep {
  const facts = { ...seenOf(snapshot, "peer"), ...given };
  return { do: "issueLeaf", purpose: "peer", authority: seenOf(snapshot, "peerCA"), facts };
}

const { enableAuth, disableAuth, setRootPassword, createRootSecret, addUser, grantRole } = STEPS;
const prepared = guarded({ state: PREPARED });
const unasking = secured({}, { client: { verifyClients: false } });

/** The same member, which asks clients for a certificate or does not. */
function asksClients(snapshot: ClusterSnapshot, verifyClients: boolean): ClusterStep {
  const { client, ...others } = peerOf(snapshot, "my-etcd-0").spec.tls!;
  return speaking(snapshot, { ...others, client: { ...client!, verifyClients } });
}

/** Nobody is asked for a certificate, and the spec has come to want it. */
const asksNobody = asking(unasking, { tls: certified.cluster.spec.tls });

const cases: Record<string, readonly Case[]> = {
  "auth-is-asked": [
    { name: "users are asked for where the spec says so", given: prepared, step: enableAuth, is: "allowed" },
    { name: "and not where it says nothing", given: guarded({ wanted: undefined }), step: enableAuth, is: "forbidden" },
    { name: "nor where it says no", given: guarded({ wanted: false }), step: enableAuth, is: "forbidden" },
    { name: "no more where it says no", given: guarded({ wanted: false }), step: disableAuth, is: "allowed" },
    { name: "not where it says yes", given: guarded(), step: disableAuth, is: "forbidden" },
    { name: "nor where it says nothing", given: guarded({ wanted: undefined }), step: disableAuth, is: "forbidden" },
    {
      name: "a Secret is made where there is none",
      given: guarded({ secret: undefined }),
      step: createRootSecret,
      is: "allowed",
    },
    { name: "and no second one", given: guarded(), step: createRootSecret, is: "forbidden" },
    {
      name: "nor where nobody asks for users",
      given: guarded({ wanted: false, secret: undefined }),
      step: createRootSecret,
      is: "forbidden",
    },
    { name: "root gets the password of its Secret", given: guarded(), step: setRootPassword, is: "allowed" },
    {
      name: "and of no Secret that is somebody else's",
      given: guarded(),
      step: { ...setRootPassword, secret: { ...ROOT_SECRET, trouble: "it is not this cluster's" } },
      is: "forbidden",
    },
    {
      name: "nor a password where nobody asks for users",
      given: guarded({ wanted: false }),
      step: setRootPassword,
      is: "forbidden",
    },
    { name: "the operator gets a user", given: guarded(), step: addUser, is: "allowed" },
    { name: "and nobody else", given: guarded(), step: { ...addUser, user: "bob" }, is: "forbidden" },
    {
      name: "root is not made without a password",
      given: guarded({ user: "root" }),
      step: { ...addUser, user: "root" },
      is: "forbidden",
    },
    { name: "nor one without a name", given: guarded({ user: "" }), step: { ...addUser, user: "" }, is: "forbidden" },
    { name: "the operator gets the role", given: guarded(), step: grantRole, is: "allowed" },
    { name: "so does root", given: guarded(), step: { ...grantRole, user: "root" }, is: "allowed" },
    { name: "and no third one", given: guarded(), step: { ...grantRole, user: "bob" }, is: "forbidden" },
    {
      name: "nobody does where nobody asks for users",
      given: guarded({ wanted: undefined }),
      step: grantRole,
      is: "forbidden",
    },
    { name: "what is about no users is for others to judge", given: settled, step: STEPS.addLearner, is: "allowed" },
  ],
  "administrator-first": [
    { name: "where the operator and root are administrators", given: prepared, step: enableAuth, is: "allowed" },
    {
      name: "not where the operator is none",
      given: guarded({ state: { ...PREPARED, operator: ["reader"] } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor where it is no user",
      given: guarded({ state: { ...PREPARED, operator: undefined } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor where root is none",
      given: guarded({ state: { ...PREPARED, root: [] } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor where root is not there",
      given: guarded({ state: { ...PREPARED, root: undefined } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor with another password than the Secret's",
      given: guarded({ state: { ...PREPARED, isRootsPassword: false } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor by what nobody knows",
      given: guarded({ state: { is: "unknown", why: "no answer" } }),
      step: enableAuth,
      is: "forbidden",
    },
    { name: "nor unseen", given: asking(certified, { auth: { enabled: true } }), step: enableAuth, is: "forbidden" },
    {
      name: "nor by a certificate without a name",
      given: guarded({ state: PREPARED, user: "" }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor by root's name",
      given: guarded({ state: PREPARED, user: "root" }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor by one that could not be read",
      given: guarded({ state: PREPARED, user: undefined }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor where clients show none",
      given: withAuth(unasking, { state: PREPARED }),
      step: enableAuth,
      is: "forbidden",
    },
    { name: "nor without TLS", given: withAuth(settled, { state: PREPARED }), step: enableAuth, is: "forbidden" },
    {
      name: "nor while a member does not ask for them, whatever the spec says",
      given: withAuth(asking(unasking, { tls: certified.cluster.spec.tls }), { state: PREPARED }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor while one runs what it was made from before",
      given: { ...prepared, pods: settled.pods },
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "switching it off asks for none of that",
      given: guarded({ wanted: false, state: NO_USERS }),
      step: disableAuth,
      is: "allowed",
    },
  ],
  "login-stays": [
    {
      name: "members go on asking for certificates",
      given: guarded({ recorded: true }),
      step: asksClients(certified, true),
      is: "allowed",
    },
    {
      name: "none stops while etcd asks for users",
      given: guarded({ recorded: true }),
      step: asksClients(certified, false),
      is: "forbidden",
    },
    {
      name: "nor speaks without TLS",
      given: guarded({ recorded: true }),
      step: speaking(certified, undefined),
      is: "forbidden",
    },
    {
      name: "nor is one made so",
      given: guarded({ recorded: true }),
      step: bornSpeaking(certified, undefined),
      is: "forbidden",
    },
    {
      name: "one may where etcd asks for none",
      given: guarded({ recorded: false }),
      step: asksClients(certified, false),
      is: "allowed",
    },
    { name: "or nobody ever has", given: certified, step: asksClients(certified, false), is: "allowed" },
    {
      name: "who did not before need not",
      given: withAuth(unasking, { recorded: true }),
      step: asksClients(unasking, false),
      is: "allowed",
    },
    {
      name: "what is about no member is for others to judge",
      given: guarded({ recorded: true }),
      step: enableAuth,
      is: "allowed",
    },
  ],
  "tls-stepwise": [
    { name: "a member keeps TLS", given: certified, step: speaking(certified, tlsOfAll), is: "allowed" },
    { name: "nobody loses it at once", given: certified, step: speaking(certified, undefined), is: "forbidden" },
    {
      name: "nor on one side",
      given: certified,
      step: speaking(certified, { peer: tlsOfAll.peer! }),
      is: "forbidden",
    },
    {
      name: "nor its certificate for the others while one of them is reached over TLS",
      given: switching(WITHOUT, ["both", "both", "reached"]),
      step: given0(switching(WITHOUT, ["both", "both", "reached"]), { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "by its EtcdPeer, or by etcd's list",
      given: listedBy(switching(WITHOUT, ["both", "both", "both"]), "https", ["my-etcd-2"]),
      step: given0(switching(WITHOUT, ["both", "both", "both"]), { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "or by its pod",
      given: { ...backAgain, pods: switching(WITHOUT, ["both", "both", "reached"]).pods },
      step: given0(backAgain, { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "it loses that last",
      given: backAgain,
      step: given0(backAgain, { client: HAS.both.client }),
      is: "allowed",
    },
    { name: "nobody gets it who did not ask", given: settled, step: speaking(settled, tlsOfAll), is: "forbidden" },
    {
      name: "who has asked gets certificates first",
      given: switching({}, ["nothing", "nothing", "nothing"]),
      step: given0(switching({}, ["nothing", "nothing", "nothing"]), HAS.both),
      is: "allowed",
    },
    {
      name: "and is not reached over TLS at once",
      given: switching({}, ["nothing", "nothing", "nothing"]),
      step: given0(switching({}, ["nothing", "nothing", "nothing"]), HAS.reached),
      is: "forbidden",
    },
    {
      name: "nor serves clients with TLS alone at once",
      given: switching({}, ["nothing", "nothing", "nothing"]),
      step: given0(switching({}, ["nothing", "nothing", "nothing"]), { ...HAS.both, client: HAS.all.client }),
      is: "forbidden",
    },
    {
      name: "nobody is reached over TLS before all have certificates",
      given: switching({}, ["both", "both", "nothing"]),
      step: given0(switching({}, ["both", "both", "nothing"]), HAS.reached),
      is: "forbidden",
    },
    {
      name: "in their pods, too",
      given: { ...lastBoth, pods: switching({}, ["both", "both", "nothing"]).pods },
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    {
      name: "and somebody else's member counts",
      given: withMember(lastBoth, stranger()),
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    { name: "then one is", given: lastBoth, step: given0(lastBoth, HAS.reached), is: "allowed" },
    {
      name: "one at a time",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    {
      name: "until etcd lists it so",
      given: listedBy(oneReached, "http", ["my-etcd-2"]),
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    { name: "then the next one", given: oneReached, step: given0(lastBoth, HAS.reached), is: "allowed" },
    {
      name: "nobody while etcd cannot be asked",
      given: { ...lastBoth, members: unknown("no answer") },
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    {
      name: "but back to what it had",
      given: { ...turnedTo(lastBoth, "my-etcd-0", "reached"), members: unknown("no answer") },
      step: given0(turnedTo(lastBoth, "my-etcd-0", "reached"), HAS.both),
      is: "allowed",
    },
    {
      name: "nobody who has yet to join",
      given: bootstrapping,
      step: given0(bootstrapping, HAS.reached),
      is: "forbidden",
    },
    {
      name: "its URL is changed before it restarts",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: listing("https"),
      is: "allowed",
    },
    { name: "to what its EtcdPeer says", given: lastBoth, step: listing("https"), is: "forbidden" },
    {
      name: "not to anything else",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: listing("http"),
      is: "forbidden",
    },
    {
      name: "not while another one is on its way",
      given: turnedTo(listedBy(lastBoth, "https", ["my-etcd-1"]), "my-etcd-2", "reached"),
      step: listing("https"),
      is: "forbidden",
    },
    {
      name: "nor before all can dial it",
      given: turnedTo(switching({}, ["nothing", "both", "both"]), "my-etcd-2", "reached"),
      step: listing("https"),
      is: "forbidden",
    },
    {
      name: "nor for a learner, which older releases would list as a voter",
      given: withEachMember(turnedTo(lastBoth, "my-etcd-2", "reached"), (member) => ({ ...member, isLearner: true })),
      step: listing("https"),
      is: "forbidden",
    },
    {
      name: "it does not restart before",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: restartingLast(lastBoth),
      is: "forbidden",
    },
    {
      name: "it restarts after it",
      given: listedBy(turnedTo(lastBoth, "my-etcd-2", "reached"), "https", ["my-etcd-2"]),
      step: restartingLast(lastBoth),
      is: "allowed",
    },
    {
      name: "who comes later speaks as all do",
      given: certified,
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    { name: "and not otherwise", given: certified, step: bornSpeaking(certified, undefined), is: "forbidden" },
    {
      name: "nor without what it takes to dial one of them",
      given: oneReached,
      step: bornSpeaking(oneReached, { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "nor reached over TLS where somebody could not dial it",
      given: switching({}, ["both", "both", "nothing"]),
      step: bornSpeaking(certified, HAS.reached),
      is: "forbidden",
    },
    { name: "nor so where nobody does", given: settled, step: bornSpeaking(settled, tlsOfAll), is: "forbidden" },
    {
      name: "whatever the spec says by now",
      given: asking(certified, { tls: undefined as never }),
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    {
      name: "the first one speaks as the spec asks for",
      given: nobody,
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    { name: "and is not made without", given: nobody, step: bornSpeaking(certified, undefined), is: "forbidden" },
    { name: "what is about no member is for others to judge", given: certified, step: STEPS.issueLeaf, is: "allowed" },
  ],
  "allowed-secrets": [
    { name: "a Secret that is for clusters is mounted", given: broughtFirst, step: broughtIn(), is: "allowed" },
    { name: "one that is not for them is not", given: withheldFirst, step: broughtIn(), is: "forbidden" },
    {
      name: "nor on the side of clients",
      given: withMade(broughtFirst, { server: { isOurs: false, mayBeShown: false } }),
      step: broughtIn(),
      is: "forbidden",
    },
    {
      name: "nor one that nobody has looked at",
      given: withSeen(broughtFirst, { peer: { is: "absent" } }),
      step: broughtIn(),
      is: "forbidden",
    },
    {
      name: "nor another one than the one that was looked at",
      given: broughtFirst,
      step: broughtIn("others"),
      is: "forbidden",
    },
    {
      name: "who has it keeps it",
      given: withMade(brought, { peer: { isOurs: false, mayBeShown: false } }),
      step: speaking(brought, peerOf(brought, "my-etcd-0").spec.tls),
      is: "allowed",
    },
    {
      name: "what the operator makes needs no label",
      given: certified,
      step: speaking(certified, tlsOfAll),
      is: "allowed",
    },
    { name: "what is about no member is for others to judge", given: certified, step: STEPS.issueLeaf, is: "allowed" },
  ],
  "trusted-first": [
    { name: "who is trusted by all may sign", given: certified, step: issuing(certified), is: "allowed" },
    { name: "who is not may not", given: swapped, step: issuing(swapped), is: "forbidden" },
    {
      name: "not even where nothing is there: members would show what the others refuse",
      given: swapped,
      step: { do: "issueLeaf", purpose: "peer", authority: seenOf(swapped, "peerCA"), facts: undefined },
      is: "forbidden",
    },
    {
      name: "but where nobody is there yet",
      given: { ...swapped, peers: [] },
      step: issuing(swapped),
      is: "allowed",
    },
    {
      name: "who has signed what is there may sign the next one",
      given: withMade(swapped, { peer: { by: NEXT } }),
      step: issuing(withMade(swapped, { peer: { by: NEXT } })),
      is: "allowed",
    },
    { name: "whatever has signed what is there", given: swapped, step: rotating(swapped, "forget"), is: "allowed" },
    { name: "one that all trust may follow", given: trusting, step: rotating(trusting, "switch"), is: "allowed" },
    {
      name: "one that one does not trust may not",
      given: lastTrusts,
      step: rotating(lastTrusts, "switch"),
      is: "forbidden",
    },
    { name: "none may not", given: certified, step: rotating(certified, "switch"), is: "forbidden" },
    { name: "another one may always be made", given: certified, step: rotating(certified, "add"), is: "allowed" },
    {
      name: "the one before goes once nothing of its is in use",
      given: replaced,
      step: rotating(replaced, "drop"),
      is: "allowed",
    },
    { name: "and not before", given: switched, step: rotating(switched, "drop"), is: "forbidden" },
    {
      name: "nor while somebody does not trust the other one",
      given: withMade(swapped, { peer: { by: NEXT } }),
      step: rotating(withMade(swapped, { peer: { by: NEXT } }), "drop"),
      is: "forbidden",
    },
    {
      name: "who is not trusted yet may sign what nobody shows",
      given: turnedBack,
      step: issuing(turnedBack),
      is: "allowed",
    },
    {
      name: "applications get what members believe",
      given: certified,
      step: { do: "handOut", source: seenOf(certified, "server"), facts: seenOf(certified, "server"), trust: "" },
      is: "allowed",
    },
    { name: "and not what they do not", given: certified, step: handing(NEXT), is: "forbidden" },
    { name: "unless they have had nothing", given: certified, step: handing(NEXT, true), is: "allowed" },
    { name: "or nobody asks for it", given: notAsking(certified), step: handing(NEXT), is: "allowed" },
    {
      name: "what is about no authority is for others to judge",
      given: swapped,
      step: STEPS.createTrustMap,
      is: "allowed",
    },
  ],
  "shown-when-trusted": [
    {
      name: "what all believe may be shown",
      given: turnedTrusting,
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "allowed",
    },
    {
      name: "what nobody believes may not",
      given: leaving,
      step: speaking(leaving, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "nor what one does not",
      given: running(leaving, ["my-etcd-0", "my-etcd-1"], shows("my-etcd-peer-tls", ofBoth)),
      step: speaking(leaving, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "nor what is not there",
      given: withSeen(turnedTrusting, { peer: { is: "absent" } }),
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "nor what nobody has looked at",
      given: turnedTrusting,
      step: speaking(turnedTrusting, shows("another", ofBoth)),
      is: "forbidden",
    },
    {
      name: "nor what is of no use",
      given: withMade(turnedTrusting, { peer: { by: SOMEBODY, isOurs: false, trouble: "it has no tls.key" } }),
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "nor what has ended",
      given: withMade(turnedTrusting, { peer: { by: SOMEBODY, isOurs: false, lastsMs: 0 } }),
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "what is shown already is for others to judge",
      given: leaving,
      step: speaking(leaving, shows("my-etcd-peer-tls", ofBoth)),
      is: "allowed",
    },
    {
      name: "a member restarts with what all believe",
      given: aboutToTurn,
      step: restarting(aboutToTurn, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "not once it holds something else",
      given: withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }),
      step: restarting(withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }), "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who shows the former one goes on with it meanwhile",
      given: withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }),
      step: restarting(withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }), "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "what clients are shown has to be believed as well",
      given: turnedClients,
      step: speaking(turnedClients, clientsOf("their-server", ofBoth)),
      is: "forbidden",
    },
    {
      name: "and is shown once it is",
      given: clientsTrusting,
      step: speaking(clientsTrusting, clientsOf("their-server", ofBoth)),
      is: "allowed",
    },
    {
      name: "where clients show nothing members ask for nothing",
      given: notAsking(turnedClients),
      step: speaking(turnedClients, clientsOf("their-server", ofBoth)),
      is: "allowed",
    },
    { name: "what shows nothing is for others to judge", given: leaving, step: STEPS.markRemoval, is: "allowed" },
  ],
  "trust-kept": [
    {
      name: "more may be trusted",
      given: certified,
      step: speaking(certified, shows("my-etcd-peer-tls", ofBoth)),
      is: "allowed",
    },
    {
      name: "who has signed what members show stays trusted",
      given: turnedTrusting,
      step: speaking(turnedTrusting, shows("my-etcd-peer-tls", bundle(SOMEBODY))),
      is: "forbidden",
    },
    {
      name: "also while one shows it",
      given: lastTurns,
      step: speaking(lastTurns, shows("their-peer", bundle(SOMEBODY))),
      is: "forbidden",
    },
    {
      name: "and goes once nobody does",
      given: running(turnedTrusting, undefined, shows("their-peer", ofBoth)),
      step: speaking(
        running(turnedTrusting, undefined, shows("their-peer", ofBoth)),
        shows("their-peer", bundle(SOMEBODY)),
      ),
      is: "allowed",
    },
    {
      name: "but the one that all show by then",
      given: running(turnedTrusting, undefined, shows("their-peer", ofBoth)),
      step: speaking(running(turnedTrusting, undefined, shows("their-peer", ofBoth)), shows("their-peer", bundle(OWN))),
      is: "forbidden",
    },
    {
      name: "who vouches for the operator stays trusted",
      given: clientsTrusting,
      step: speaking(clientsTrusting, clientsOf("my-etcd-server-tls", bundle(SOMEBODY))),
      is: "forbidden",
    },
    {
      name: "and may go where members do not ask for that",
      given: notAsking(clientsTrusting),
      step: speaking(clientsTrusting, clientsOf("my-etcd-server-tls", bundle(SOMEBODY))),
      is: "allowed",
    },
    {
      name: "a member comes to ask for certificates",
      given: asksNobody,
      step: asksClients(asksNobody, true),
      is: "allowed",
    },
    {
      name: "but not where it would not believe the operator's",
      given: withMade(asksNobody, { operator: { by: NEXT } }),
      step: asksClients(asksNobody, true),
      is: "forbidden",
    },
    {
      name: "which is no matter where it asks already",
      given: withMade(certified, { operator: { by: NEXT } }),
      step: asksClients(certified, true),
      is: "allowed",
    },
    {
      name: "or goes on asking nobody",
      given: withMade(asksNobody, { operator: { by: NEXT } }),
      step: asksClients(asksNobody, false),
      is: "allowed",
    },
    {
      name: "who did not vouch before is no loss",
      given: withMade(certified, { operator: { by: NEXT } }),
      step: speaking(certified, clientsOf("my-etcd-server-tls", bundle(OWN, SOMEBODY))),
      is: "allowed",
    },
    { name: "what changes no member is for others to judge", given: leaving, step: STEPS.markRemoval, is: "allowed" },
  ],
  "still-believed": [
    {
      name: "what is in use counts, also when something else is asked for",
      given: withFormer(turnedTrusting, { is: "absent" }),
      step: restarting(turnedTrusting, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "what nobody shows yet is no matter",
      given: doubtedElsewhere,
      step: restarting(doubtedElsewhere, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member restarts while all believe each other",
      given: certified,
      step: restarting(certified, "my-etcd-2"),
      is: "allowed",
    },
    { name: "not while they do not", given: doubted, step: restarting(doubted, "my-etcd-2"), is: "forbidden" },
    { name: "nor gets what it would restart for", given: doubted, step: giving(doubted, "my-etcd-2"), is: "forbidden" },
    {
      name: "whose pod runs nothing may have it made anew",
      given: withCrashing(doubtedDown, "my-etcd-2"),
      step: restarting(withCrashing(doubtedDown, "my-etcd-2"), "my-etcd-2"),
      is: "allowed",
    },
    { name: "nobody is given up", given: doubted, step: STEPS.markRemoval, is: "forbidden" },
    { name: "but while all believe each other", given: certified, step: STEPS.markRemoval, is: "allowed" },
    {
      name: "who is not wanted may go",
      given: doubted,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "and a removal be taken back",
      given: doubted,
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    { name: "what restarts nobody is for others to judge", given: doubted, step: STEPS.createService, is: "allowed" },
    {
      name: "so is all, where nobody could look",
      given: withSeen(doubted, { peer: { is: "unknown", why: "no answer" } }),
      step: restarting(doubted, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "nobody restarts without what members show",
      given: unshown,
      step: restarting(unshown, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "nor without what they show to clients",
      given: unserved,
      step: restarting(unserved, "my-etcd-2"),
      is: "forbidden",
    },
    { name: "nor is one to", given: unserved, step: givingAll(unserved, "my-etcd-2"), is: "forbidden" },
    {
      name: "what a member showed to clients before is no matter",
      given: unserved,
      step: giving(unserved, "my-etcd-2"),
      is: "allowed",
    },
    { name: "nobody is given up for it, nor kept", given: unserved, step: STEPS.markRemoval, is: "allowed" },
    {
      name: "a member may restart where nobody could look at what it shows to clients",
      given: withSeen(certified, { server: { is: "unknown", why: "no answer" } }),
      step: restarting(certified, "my-etcd-2"),
      is: "allowed",
    },
    { name: "nor with what is of no use", given: halved, step: restarting(halved, "my-etcd-2"), is: "forbidden" },
    { name: "who is lost meanwhile is given up", given: unshown, step: STEPS.markRemoval, is: "allowed" },
    { name: "but not while it is of no use: that may be why", given: halved, step: STEPS.markRemoval, is: "forbidden" },
    { name: "nor who may not have yet what is new", given: justMade, step: STEPS.markRemoval, is: "forbidden" },
    { name: "who had the time to get it is", given: longMade, step: STEPS.markRemoval, is: "allowed" },
    { name: "a restart needs no such time", given: justMade, step: restarting(justMade, "my-etcd-2"), is: "allowed" },
  ],
  "authority-kept": [
    { name: "one is made where there is none", given: noAuthority, step: STEPS.issueAuthority, is: "allowed" },
    { name: "and nowhere else", given: certified, step: STEPS.issueAuthority, is: "forbidden" },
    {
      name: "nor while somebody runs on whose EtcdPeer is gone, and who trusts another one",
      given: { ...noAuthority, peers: noAuthority.peers.slice(1) },
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "who runs on and trusts nobody is no hindrance",
      given: { ...noAuthority, peers: noAuthority.peers.slice(1), pods: settled.pods },
      step: STEPS.issueAuthority,
      is: "allowed",
    },
    {
      name: "nor where it could not be read",
      given: withSeen(certified, { peerCA: { is: "unknown", why: "no answer" } }),
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    { name: "nor where nobody looked", given: settled, step: STEPS.issueAuthority, is: "forbidden" },
    {
      name: "one for members is none for clients",
      given: noAuthority,
      step: { do: "issueAuthority", side: "client", trust: "" },
      is: "forbidden",
    },
    { name: "one that is whole is followed", given: certified, step: STEPS.rotateAuthority, is: "allowed" },
    { name: "one that is not is left alone", given: brokenCA, step: rotating(brokenCA, "add"), is: "forbidden" },
    {
      name: "what is about no authority is for others to judge",
      given: certified,
      step: STEPS.issueLeaf,
      is: "allowed",
    },
  ],
  "sleep-is-asked": [
    { name: "nobody sleeps while somebody is wanted", given: settled, step: STEPS.fallAsleep, is: "forbidden" },
    { name: "a cluster of which nobody is wanted sleeps", given: tiredOut, step: STEPS.fallAsleep, is: "allowed" },
    {
      name: "one that forms does so first",
      given: withJoined(tiredOut, 1),
      step: STEPS.fallAsleep,
      is: "forbidden",
    },
    {
      name: "who has joined is fenced first",
      given: cluster({ stage: "joined", spec: { replicas: 0 } }),
      step: STEPS.fallAsleep,
      is: "forbidden",
    },
    {
      name: "who has yet to join need not be",
      given: withStraggler(tiredOut, { started: false }),
      step: STEPS.fallAsleep,
      is: "allowed",
    },
    {
      name: "nor a later one that is joining",
      given: withArrival(tiredOut, learner.name, "started"),
      step: STEPS.fallAsleep,
      is: "allowed",
    },
    { name: "nobody wakes while nobody is wanted", given: asleep(), step: STEPS.wakeUp, is: "forbidden" },
    { name: "all wake when somebody is", given: wanted(asleep(), 1), step: STEPS.wakeUp, is: "allowed" },
    { name: "other steps are for others to judge", given: settled, step: STEPS.createService, is: "allowed" },
  ],
  "sleep-keeps-members": [
    ...Object.values(STEPS).flatMap((step): readonly Case[] => {
      const isKept = [
        ...[
          "recordIdentity",
          "addLearner",
          "promote",
          "updateMember",
          "removeMember",
          "markRemoval",
          "releaseClaim",
          "deletePeer",
        ],
        ...["disarmAlarm", "moveLeader", "enableDowngrade", "cancelDowngrade"],
      ].includes(step.do);
      const is = isKept ? "forbidden" : "allowed";
      return [
        { name: `${step.do} is ${is} while nobody is wanted`, given: tiredOut, step, is },
        { name: `${step.do} is for others to judge while somebody is`, given: settled, step, is: "allowed" },
      ];
    }),
    {
      name: "nobody comes while nobody is wanted",
      given: tiredOut,
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "forbidden",
    },
    {
      name: "a first member may, while the cluster forms",
      given: cluster({ stage: "starting", spec: { replicas: 0 } }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
  ],
  "identity-first": [
    {
      name: "the identity comes first",
      given: cluster({ stage: "new" }),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    { name: "there is no second identity", given: settled, step: STEPS.recordIdentity, is: "forbidden" },
    {
      name: "nothing is made without an identity",
      given: cluster({ stage: "new" }),
      step: STEPS.createService,
      is: "forbidden",
    },
    { name: "with an identity all the rest may be made", given: settled, step: STEPS.createService, is: "allowed" },
    {
      name: "data is asked for before there is an identity",
      given: cluster({ stage: "new" }),
      step: STEPS.createRestore,
      is: "allowed",
    },
    { name: "and never afterwards", given: settled, step: STEPS.createRestore, is: "forbidden" },
    {
      name: "whether it speaks TLS is said before there is an identity",
      given: open(cluster({ stage: "new" })),
      step: STEPS.writeTls,
      is: "allowed",
    },
    {
      name: "and never afterwards, whatever spec.tls is by then",
      given: open(settled),
      step: STEPS.writeTls,
      is: "forbidden",
    },
  ],
  "tls-is-said": [
    { name: "what is open is said", given: open(cluster({ stage: "new" })), step: STEPS.writeTls, is: "allowed" },
    { name: "what a person has said stays", given: cluster({ stage: "new" }), step: STEPS.writeTls, is: "forbidden" },
    { name: "a cluster that is there keeps what it has", given: open(settled), step: STEPS.writeTls, is: "forbidden" },
    {
      name: "data of members that reach each other by http says it",
      given: open(cluster({ stage: "new", with: { claims: [claim("my-etcd-0", claimIdentity("abc", "1"))] } })),
      step: STEPS.writeTls,
      is: "forbidden",
    },
    {
      name: "no identity is written while it is open",
      given: open(cluster({ stage: "new" })),
      step: STEPS.recordIdentity,
      is: "forbidden",
    },
    {
      name: "nothing is restored while it is open",
      given: open(cluster({ stage: "new" })),
      step: STEPS.createRestore,
      is: "forbidden",
    },
    { name: "with it, both may be", given: cluster({ stage: "new" }), step: STEPS.createRestore, is: "allowed" },
    { name: "and the identity, too", given: cluster({ stage: "new" }), step: STEPS.recordIdentity, is: "allowed" },
    {
      name: "all the rest is for others to judge",
      given: open(cluster({ stage: "new" })),
      step: STEPS.createService,
      is: "allowed",
    },
  ],
  "restored-first": [
    {
      name: "what is to begin with a snapshot does not begin with nothing",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: { do: "recordIdentity", identity: unjoined },
      is: "forbidden",
    },
    {
      name: "it begins with claims that hold data",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    {
      name: "one claim that holds data is enough: who has none forms the cluster with it",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: { do: "recordIdentity", identity: partly },
      is: "allowed",
    },
    {
      name: "all others may begin with nothing",
      given: cluster({ stage: "new" }),
      step: { do: "recordIdentity", identity: unjoined },
      is: "allowed",
    },
    {
      name: "all the rest is none of its business",
      given: asking(settled, FROM_BACKUP),
      step: STEPS.createService,
      is: "allowed",
    },
  ],
  "runnable-only": [
    {
      name: "what a member can run may reach it",
      given: settled,
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "flags that would break it reach nobody who is made",
      given: settled,
      step: { do: "createPeer", peer: withFlags(newPeer(settled, identity, "my-etcd-1"), HARMFUL) },
      is: "forbidden",
    },
    {
      name: "nor does what is not of the right shape",
      given: settled,
      step: { do: "createPeer", peer: withOptions(newPeer(settled, identity, "my-etcd-1"), { snapshotCount: "many" }) },
      is: "forbidden",
    },
    {
      name: "nor anybody who is there",
      given: settled,
      step: { do: "replacePeer", live: settled.peers[0]!, peer: withFlags(settled.peers[0]!, HARMFUL) },
      is: "forbidden",
    },
    {
      name: "who has them already is fenced all the same",
      given: settled,
      step: {
        do: "replacePeer",
        live: withFlags(settled.peers[0]!, HARMFUL) as EtcdPeer,
        peer: withFlags(settled.peers[0]!, HARMFUL),
      },
      is: "allowed",
    },
    { name: "what is no EtcdPeer is none of its business", given: settled, step: STEPS.createService, is: "allowed" },
  ],
  "bootstrap-once": [
    {
      name: "a first member that has never joined may bootstrap",
      given: cluster({ stage: "starting" }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "whose peer is replaced, having joined, may not bootstrap again",
      given: settled,
      step: { ...STEPS.replacePeer, peer: newPeer(settled, identity, "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "whose peer is made again, having joined, may not bootstrap again",
      given: settled,
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "who joins a cluster that is there does not bootstrap",
      given: settled,
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "allowed",
    },
    {
      name: "when the cluster has formed without it, a first member may still come while etcd lists it as not started",
      given: straggling({ listed: true, started: false }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "whom etcd lists as started may not bootstrap, whatever is on record",
      given: straggling({ listed: true, started: true }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "whom the formed cluster does not list may not bootstrap",
      given: straggling({ listed: false, started: false }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "when nobody knows whom the formed cluster lists, nobody bootstraps",
      given: withoutList(straggling({ listed: true, started: false })),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "nobody outside the frozen list may bootstrap",
      given: cluster({ stage: "starting", spec: { replicas: 5 } }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-3") },
      is: "forbidden",
    },
  ],
  "joined-is-seen": [
    {
      name: "who has answered has joined",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-0"] },
      is: "allowed",
    },
    {
      name: "each is asked by its own name",
      given: answering(cluster({ stage: "starting" }), "my-etcd-1"),
      step: { do: "recordJoined", names: ["my-etcd-1"] },
      is: "allowed",
    },
    {
      name: "whom etcd lists as started has joined, also when it is silent",
      given: straggling({ listed: true, started: true }),
      step: { do: "recordJoined", names: ["my-etcd-2"] },
      is: "allowed",
    },
    {
      name: "that one has answered says nothing of another",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-0", "my-etcd-1"] },
      is: "forbidden",
    },
    {
      name: "who is not in the frozen list has not joined",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-3"] },
      is: "forbidden",
    },
  ],
  "keep-quorum": [
    {
      name: "a learner has no vote: it may go although nobody is to spare",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "synced"),
      step: { do: "removeMember", ...learner },
      is: "allowed",
    },
    {
      name: "a vote for a learner that does not answer may not cost the quorum",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "added"),
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
    {
      name: "a vote for a learner that does not answer may not take the last spare voter",
      given: withArrival(settled, "my-etcd-3", "added"),
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
    {
      name: "a vote that makes a sick cluster no weaker may be given",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "synced"),
      step: { do: "promote", ...learner },
      is: "allowed",
    },
    {
      name: "the fifth vote needs no more than the fourth",
      given: withArrival(cluster({ replicas: 4, down: ["my-etcd-1"] }), "my-etcd-4", "added"),
      step: { do: "promote", name: "my-etcd-4", id: learner.id },
      is: "allowed",
    },
    {
      name: "of two members one may go when one is wanted",
      given: cluster({ replicas: 2, spec: { replicas: 1 } }),
      step: { do: "removeMember", name: "my-etcd-1", id: idIn(cluster({ replicas: 2 }), "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "the last member may not go",
      given: cluster({ replicas: 1 }),
      step: { do: "removeMember", name: "my-etcd-0", id: idIn(cluster({ replicas: 1 }), "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "who answers now is well, whatever was seen before",
      given: sickFor(settled, "my-etcd-1", 60_000),
      step: { do: "removeMember", ...m1! },
      is: "forbidden",
    },
    {
      name: "who has not answered for less than five seconds may be well",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 4_999),
      step: { do: "removeMember", ...m1! },
      is: "forbidden",
    },
    {
      name: "who has not answered for five seconds takes nothing away",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 5_000),
      step: { do: "removeMember", ...m1! },
      is: "allowed",
    },
    {
      name: "when two are wanted, the last spare voter may go",
      given: asking(settled, { replicas: 2 }),
      step: { do: "removeMember", ...m2! },
      is: "allowed",
    },
    {
      name: "who is no member is neither removed nor given a vote",
      given: settled,
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
  ],
  "one-at-a-time": [
    {
      name: "nobody is to join while another one is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "createPeer", peer: intendedPeer(settled, identity, "my-etcd-4") },
      is: "forbidden",
    },
    {
      name: "who is joining may get its peer back",
      given: withArrival(settled, "my-etcd-3", "added", { peer: false }),
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "allowed",
    },
    {
      name: "a member may get its peer back while another one is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "createPeer", peer: fencedPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "who was intended is added",
      given: withArrival(settled, "my-etcd-3", "intended"),
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "nobody goes while somebody is about to join",
      given: withArrival(settled, "my-etcd-3", "intended"),
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "nobody is marked to go while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.markRemoval,
      is: "forbidden",
    },
    {
      name: "a removal may be taken back while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    {
      name: "what a person adds under another URL holds nobody back",
      given: withMember(settled, stranger({ name: "theirs", peerUrls: ["http://elsewhere:2380"], isLearner: true })),
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "who has left is not leaving any more",
      given: withoutMember(withRemoval(settled, "my-etcd-2", "replacement"), "my-etcd-2"),
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "nobody is added while somebody is leaving",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.addLearner,
      is: "forbidden",
    },
    {
      name: "who is leaving is removed",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.removeMember,
      is: "allowed",
    },
    { name: "one member restarts", given: settled, step: STEPS.restartPod, is: "allowed" },
    {
      name: "nobody restarts while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "who is joining may restart",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: restarting(withArrival(settled, "my-etcd-3", "started"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "nobody restarts while another one is down",
      given: five1Down,
      step: restarting(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who is down may restart",
      given: five1Down,
      step: restarting(five1Down, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "a pod in which nothing runs is made anew at any time",
      given: withCrashing(fiveDown(["my-etcd-1", "my-etcd-2"]), "my-etcd-2"),
      step: restarting(five1Down, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "not while it answers: a kubelet may tell late",
      given: withCrashing(five1Down, "my-etcd-2"),
      step: restarting(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    { name: "one member gets its turn", given: settled, step: giving(settled, "my-etcd-2"), is: "allowed" },
    {
      name: "nobody gets a turn while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: giving(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who is leaving may get a turn",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: giving(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "nobody gets a turn while another one is down",
      given: five1Down,
      step: giving(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "nobody gets a turn while another one has it",
      given: turned,
      step: giving(turned, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a turn that waits for a person is in nobody's way",
      given: asked,
      step: giving(asked, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "who has its turn may get another wish",
      given: five1DownTurned,
      step: giving(five1DownTurned, "my-etcd-2", "3.6.18"),
      is: "allowed",
    },
    {
      name: "what changes nothing of what it runs is no turn",
      given: turned,
      step: { do: "replacePeer", live: peerOf(turned, "my-etcd-2"), peer: fencedPeer(turned, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "nor while its pod does not say what it was made from",
      given: madeFrom(turned, "my-etcd-2", undefined),
      step: { do: "replacePeer", live: peerOf(turned, "my-etcd-2"), peer: fencedPeer(turned, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "who takes no part loses nothing",
      given: fiveDown(["my-etcd-1", "my-etcd-2"]),
      step: giving(fiveDown(["my-etcd-1", "my-etcd-2"]), "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a learner has no turn",
      given: withArrival(five1Down, "my-etcd-5", "started"),
      step: giving(withArrival(five1Down, "my-etcd-5", "started"), "my-etcd-5"),
      is: "allowed",
    },
    {
      name: "nor has who is no member",
      given: withoutMember(five1Down, "my-etcd-2"),
      step: giving(five1Down, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "an EtcdPeer of which nothing is said is for others to judge",
      given: turned,
      step: { ...STEPS.replacePeer, peer: { ...STEPS.replacePeer.peer, spec: undefined } } as never,
      is: "allowed",
    },
  ],
  "restart-keeps-quorum": [
    {
      name: "of three one may restart, and take the last spare voter for a while",
      given: settled,
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "of three none may restart while another one is down",
      given: lost,
      step: restarting(lost, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who is down itself takes nothing away",
      given: lost,
      step: restarting(lost, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "nor does a pod in which nothing runs, whoever else is down",
      given: withCrashing(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "nobody gets a turn that could not be used: voters of somebody else are not counted on",
      given: withMember(settled, THEIRS),
      step: giving(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who takes part counts, although it serves no clients yet",
      given: unpublished(settled, "my-etcd-1"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a learner has no vote: it may restart whoever is down",
      given: withArrival(lost, "my-etcd-3", "synced"),
      step: restarting(withArrival(lost, "my-etcd-3", "synced"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "also when there is no quorum",
      given: withArrival(
        { ...cluster({ down: ["my-etcd-1", "my-etcd-2"] }), members: settled.members },
        "my-etcd-3",
        "synced",
      ),
      step: restarting(withArrival(lost, "my-etcd-3", "synced"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "a voter that a person added, and that nobody can ask, may be the one that is missing",
      given: withMember(settled, THEIRS),
      step: restarting(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "of two both may, one after another, when no more are wanted",
      given: cluster({ replicas: 2 }),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "but not while a third one is wanted",
      given: asking(cluster({ replicas: 2 }), { replicas: 3 }),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "nor while there are three still, one of them down",
      given: asking(lost, { replicas: 2 }),
      step: restarting(lost, "my-etcd-2"),
      is: "forbidden",
    },
  ],
  "version-path": [
    {
      name: "a member restarts with the release that it has",
      given: settled,
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "a member without an EtcdPeer is for others to judge",
      given: { ...settled, peers: [] },
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "nobody restarts with a release that there is no way to any more",
      given: withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }),
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "what another member is to run is its own business",
      given: withPeer(settled, "my-etcd-1", { spec: { version: "3.4.35" } }),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "a member may get the next minor",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.7.1"),
      is: "allowed",
    },
    {
      name: "a member may not get the minor before the one before",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.4.35"),
      is: "forbidden",
    },
    {
      name: "who has a release already may get something else with it, whether or not there is a way",
      given: withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }),
      step: giving(withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }), "my-etcd-2", "3.4.35"),
      is: "allowed",
    },
    {
      name: "nobody gets an EtcdPeer with a release that there is no way to",
      given: settled,
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.4.35" }),
      is: "forbidden",
    },
    {
      name: "who ran the minor before last gets it back with its EtcdPeer",
      given: lastOf("3.5.35"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }),
      is: "allowed",
    },
    {
      name: "nobody else gets it",
      given: lastOf("3.5.35"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "what is on record is no reason to give it to a member that has an EtcdPeer",
      given: recording(settled, "3.6.16", "3.6.16", "3.4.35"),
      step: giving(settled, "my-etcd-2", "3.4.35"),
      is: "forbidden",
    },
    { name: "everybody gets one with what the cluster runs", given: settled, step: STEPS.createPeer, is: "allowed" },
    {
      name: "a new EtcdPeer of which nothing is said is for others to judge",
      given: settled,
      step: creating(undefined),
      is: "allowed",
    },
    { name: "what is about no EtcdPeer is for others to judge", given: settled, step: STEPS.stopUpdate, is: "allowed" },
    {
      name: "an EtcdPeer of which nothing is said is for others to judge",
      given: settled,
      step: { ...STEPS.replacePeer, peer: { ...STEPS.replacePeer.peer, spec: undefined } } as never,
      is: "allowed",
    },
  ],
  "downgrade-enabled": [
    { name: "a member restarts with the release that it has", given: settled, step: STEPS.restartPod, is: "allowed" },
    {
      name: "a member without an EtcdPeer is for others to judge",
      given: { ...settled, peers: [] },
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "nobody restarts with the minor before",
      given: sentBack,
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "unless its data can be read by it",
      given: withPeer(converted, "my-etcd-2", { spec: { version: "3.5.35" } }),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "nobody restarts with the next minor while data is in the format of the one before",
      given: withPeer(converted, "my-etcd-1", { spec: { version: "3.7.1" } }),
      step: restarting(converted, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "nor is anybody given it",
      given: converted,
      step: giving(converted, "my-etcd-1", "3.7.1"),
      is: "forbidden",
    },
    {
      name: "what another member is to run is its own business",
      given: withPeer(settled, "my-etcd-1", { spec: { version: "3.5.35" } }),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "a pod in which nothing runs is made anew all the same",
      given: withPeer(recording(crashing, "3.6.16", "3.6.16", "3.6.16"), "my-etcd-2", { spec: { version: "3.5.35" } }),
      step: restarting(crashing, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member may not get the minor before",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.5.35"),
      is: "forbidden",
    },
    {
      name: "unless its data can be read by it by now",
      given: converted,
      step: giving(converted, "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "what another one says does not count",
      given: converted,
      step: giving(converted, "my-etcd-1", "3.5.35"),
      is: "forbidden",
    },
    {
      name: "as long as a member runs that minor, the others may get it",
      given: saying(settled, "3.5.30", "3.6.16", "3.6.16"),
      step: giving(saying(settled, "3.5.30", "3.6.16", "3.6.16"), "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "a member may get the next minor",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.7.1"),
      is: "allowed",
    },
    {
      name: "who has a release already may get something else with it",
      given: sentBack,
      step: giving(sentBack, "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "who ran the minor before gets it back with its EtcdPeer",
      given: lastOf("3.6.16"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.16" }),
      is: "allowed",
    },
    {
      name: "nobody else gets it",
      given: lastOf("3.6.16"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.16" }, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "nor does who is to join",
      given: settled,
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }, "my-etcd-3"),
      is: "forbidden",
    },
    {
      name: "unless a member runs it",
      given: saying(settled, "3.6.16", "3.7.1", "3.7.1"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.17" }, "my-etcd-3"),
      is: "allowed",
    },
    { name: "everybody gets one with what the cluster runs", given: settled, step: STEPS.createPeer, is: "allowed" },
    {
      name: "a new EtcdPeer of which nothing is said is for others to judge",
      given: settled,
      step: creating(undefined),
      is: "allowed",
    },
    { name: "what is about no EtcdPeer is for others to judge", given: settled, step: STEPS.stopUpdate, is: "allowed" },
  ],
  "fence-before-vote": [
    {
      name: "who could bootstrap gets no vote",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "who may only restart gets a vote",
      given: withArrival(settled, "my-etcd-3", "synced"),
      step: STEPS.promote,
      is: "allowed",
    },
    {
      name: "whose running pod could still bootstrap gets no vote",
      given: withPod(withArrival(settled, "my-etcd-3", "synced"), pod("my-etcd-3", { ready: true, fenced: false })),
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "who has no pod gets no vote",
      given: withPod(withArrival(settled, "my-etcd-3", "synced"), undefined),
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "who has no peer gets no vote",
      given: withArrival(settled, "my-etcd-3", "synced", { peer: false }),
      step: STEPS.promote,
      is: "forbidden",
    },
  ],
  "nobody-vouches": [
    { name: "who is lost and silent is given up", given: lost, step: replacing(lost), is: "allowed" },
    { name: "who takes part is not given up", given: settled, step: replacing(settled), is: "forbidden" },
    {
      name: "whom the kubelet calls ready is not given up",
      given: { ...lost, pods: settled.pods },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "from whom the leader hears is not given up",
      given: { ...lost, heard: new Set([identity.initialMembers[1]!.id]) },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "a claim that the cache does not know is no reason while the kubelet calls the member ready",
      given: {
        ...lost,
        pods: settled.pods,
        claims: settled.claims.filter(({ metadata }) => metadata.name !== m1!.name),
      },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "nor while it takes part",
      given: { ...settled, claims: settled.claims.filter(({ metadata }) => metadata.name !== m1!.name) },
      step: replacing(settled),
      is: "forbidden",
    },
    {
      name: "a removal may always be taken back",
      given: settled,
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    {
      name: "when fewer are wanted the healthy may go",
      given: settled,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "who takes part again is not removed on the word of yesterday",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "whose removal was asked for is removed",
      given: withRemoval(settled, "my-etcd-2", "scale-down"),
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "a removal without a reason is for others to judge",
      given: settled,
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "a learner costs no vote",
      given: withRemoval(withArrival(settled, "my-etcd-3", "synced"), "my-etcd-3", "replacement"),
      step: { do: "removeMember", ...learner },
      is: "allowed",
    },
  ],
  "not-a-member": [
    {
      name: "an intent goes also when etcd has added its member meanwhile, which gets an EtcdPeer again",
      given: withArrival(settled, "my-etcd-3", "added"),
      step: { do: "deletePeer", peer: intent("my-etcd-3") },
      is: "allowed",
    },
    {
      name: "an intent has no claim to let go of",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: intent("my-etcd-3") },
      is: "forbidden",
    },
    {
      name: "a member that was added again under its old URL is another one",
      given: withoutMember(settled, "my-etcd-2"),
      step: { do: "deletePeer", peer: { ...settled.peers[2]!, spec: { ...settled.peers[2]!.spec, memberID: "abc" } } },
      is: "allowed",
    },
    {
      name: "whom etcd lists under another URL stays",
      given: withMember(
        withoutMember(settled, "my-etcd-2"),
        stranger({ id: m2!.id, peerUrls: ["http://elsewhere:2380"] }),
      ),
      step: STEPS.releaseClaim,
      is: "forbidden",
    },
    { name: "who is a member stays", given: settled, step: STEPS.deletePeer, is: "forbidden" },
    {
      name: "who has left may go",
      given: withoutMember(settled, "my-etcd-2"),
      step: STEPS.releaseClaim,
      is: "allowed",
    },
    {
      name: "without a member list nobody goes",
      given: withoutList(settled),
      step: { do: "deletePeer", peer: intent("my-etcd-3") },
      is: "forbidden",
    },
  ],
  "alarm-is-over": [
    {
      name: "the alarm of a member stays",
      given: settled,
      step: { do: "disarmAlarm", id: m1!.id, type: "NOSPACE" },
      is: "forbidden",
    },
    { name: "the alarm of who has left is lowered", given: settled, step: STEPS.disarmAlarm, is: "allowed" },
  ],
  "asked-to-delete": [
    {
      name: "the claim of who was lost is kept",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("replacement") },
      is: "forbidden",
    },
    {
      name: "fewer members were asked for: the claim goes",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("scale-down") },
      is: "allowed",
    },
    {
      name: "no etcd ever ran on it: the claim goes",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("never-started") },
      is: "allowed",
    },
    {
      name: "to put the claim of who was lost aside nobody has to ask",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("replacement"), finalizer: QUARANTINE_FINALIZER },
      is: "allowed",
    },
    {
      name: "nobody is marked as one too many while there are no more than are wanted",
      given: settled,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "one too many is marked",
      given: asking(settled, { replicas: 2 }),
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "a voter that a person added does not make one of ours too many",
      given: withMember(settled, stranger({ name: "theirs", peerUrls: ["http://elsewhere:2380"] })),
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "a learner that is not wanted any more is marked as one too many",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "a learner that is wanted is not marked as one too many",
      given: asking(withArrival(settled, "my-etcd-3", "started"), { replicas: 4 }),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "who may hold data is not marked as never started",
      given: lost,
      step: { ...STEPS.markRemoval, removal: "never-started" },
      is: "forbidden",
    },
    {
      name: "whose claim never got a volume is marked as never started",
      given: withUnboundLearner(withArrival(settled, "my-etcd-3", "added")),
      step: { do: "markRemoval", peer: arrivingPeer("added"), removal: "never-started" },
      is: "allowed",
    },
    {
      name: "who is no member is not marked for a reason that costs the claim",
      given: asking(settled, { replicas: 1 }),
      step: { do: "markRemoval", peer: arrivingPeer("added"), removal: "scale-down" },
      is: "forbidden",
    },
    { name: "who is lost is marked, and keeps the claim", given: settled, step: STEPS.markRemoval, is: "allowed" },
  ],
  "own-only": [
    { name: "the cluster's own Secret is written", given: certified, step: STEPS.spreadTrust, is: "allowed" },
    { name: "somebody else's is not", given: theirSecret, step: issuing(theirSecret), is: "forbidden" },
    {
      name: "nor that of an earlier cluster of the name",
      given: certified,
      step: issuing(certified, { ownerUid: "earlier" }),
      is: "forbidden",
    },
    {
      name: "one that is not there may be made",
      given: certified,
      step: { do: "issueLeaf", purpose: "peer", authority: ownCA, facts: undefined },
      is: "allowed",
    },
    {
      name: "an authority of somebody else is not followed",
      given: certified,
      step: { do: "rotateAuthority", side: "peer", phase: "add", facts: { ...ownCA, ownerUid: undefined } },
      is: "forbidden",
    },
    ...(["markRemoval", "releaseClaim", "deletePeer"] as const).map(
      (kind): Case => ({
        name: `${kind} is not for a peer that another owner manages`,
        given: settled,
        step: { ...STEPS[kind], peer: disowned(settled.peers[2]!) } as ClusterStep,
        is: "forbidden",
      }),
    ),
    {
      name: "a peer that another owner manages is not replaced",
      given: settled,
      step: { ...STEPS.replacePeer, live: disowned(settled.peers[0]!) },
      is: "forbidden",
    },
    {
      name: "a Service that another owner manages is not replaced",
      given: settled,
      step: { ...STEPS.replaceService, live: disowned<Service>(settled.clientService!) },
      is: "forbidden",
    },
    {
      name: "a budget that another owner manages is not replaced",
      given: settled,
      step: { ...STEPS.replaceBudget, live: disowned<PodDisruptionBudget>(settled.budget!) },
      is: "forbidden",
    },
    {
      name: "nor is it deleted",
      given: settled,
      step: { ...STEPS.deleteBudget, live: disowned<PodDisruptionBudget>(settled.budget!) },
      is: "forbidden",
    },
    {
      name: "a NetworkPolicy that another owner manages is not replaced",
      given: settled,
      step: { ...STEPS.replaceNetworkPolicy, live: disowned(STEPS.replaceNetworkPolicy.live) },
      is: "forbidden",
    },
    {
      name: "and is not deleted",
      given: settled,
      step: { ...STEPS.deleteNetworkPolicy, live: disowned(STEPS.deleteNetworkPolicy.live) },
      is: "forbidden",
    },
    ...Object.values(STEPS).map(
      (step): Case => ({ name: `${step.do} is for what is the cluster's own`, given: settled, step, is: "allowed" }),
    ),
  ],
  // Every kind of step, when nobody knows who is a member.
  "need-member-list": (
    [
      ["recordIdentity", "allowed"],
      ["recordJoined", "allowed"],
      ["createService", "allowed"],
      ["replaceService", "allowed"],
      ["createBudget", "allowed"],
      ["replaceBudget", "allowed"],
      ["deleteBudget", "allowed"],
      ["createPeer", "allowed"],
      ["replacePeer", "allowed"],
      ["restartPod", "forbidden"],
      ["stopUpdate", "allowed"],
      ["markRemoval", "forbidden"],
      ["releaseClaim", "forbidden"],
      ["deletePeer", "forbidden"],
      ["addLearner", "forbidden"],
      ["promote", "forbidden"],
      ["removeMember", "forbidden"],
      ["disarmAlarm", "forbidden"],
      ["enableDowngrade", "forbidden"],
      ["cancelDowngrade", "forbidden"],
      ["moveLeader", "forbidden"],
    ] as const
  ).flatMap(([kind, is]): readonly Case[] => [
    { name: `without a member list ${kind} is ${is}`, given: withoutList(settled), step: STEPS[kind], is },
    { name: `with a member list ${kind} is for others to judge`, given: settled, step: STEPS[kind], is: "allowed" },
    ...(kind === "restartPod" ? [STOPPED] : []),
  ]),
};

function withoutList(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, members: { is: "unknown", why: "nobody has a leader" } };
}

function idIn(snapshot: ClusterSnapshot, name: string) {
  return memberIdFromHex(snapshot.cluster.status!.identity!.initialMembers.find((each) => each.name === name)!.id);
}

function intent(name: string): EtcdPeer {
  return peerOf(withArrival(settled, name, "intended"), name);
}

function marked(removal: string): EtcdPeer {
  return peerOf(changedPeer(settled, "my-etcd-2", { annotations: { [REMOVAL_ANNOTATION]: removal } }), "my-etcd-2");
}

function disowned<T extends EtcdPeer | NetworkPolicy | Service | PodDisruptionBudget>(object: T): T {
  return born({ ...object, metadata: { ...object.metadata, ownerReferences: [] } } as never) as T;
}

for (const [guard, promises] of Object.entries(cases)) {
  for (const { name, given, step, is } of promises) {
    test(`cluster guards: ${guard}: ${name}`, () => {
      const why = CLUSTER_GUARDS.find((each) => each.name === guard)!.forbids(given, step);
      expect(why === undefined ? "allowed" : "forbidden", why).toBe(is);
    });
  }
}

test("cluster guards: each has promises above, and each of its answers is among them", () => {
  expect(Object.keys(cases).sort()).toEqual(CLUSTER_GUARDS.map(({ name }) => name).sort());
  for (const [guard, promises] of Object.entries(cases))
    expect([guard, ...new Set(promises.map(({ is }) => is))].sort()).toEqual([guard, "allowed", "forbidden"].sort());
});
