import { CLEANUP_FINALIZER } from "#api/names.ts";
import { DEFAULT_TLS } from "#api/tls.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { disruptionBudget } from "#cluster/exposure/desired/disruption-budget.ts";
import { networkPolicy } from "#cluster/exposure/desired/network-policy.ts";
import { podMonitor } from "#cluster/exposure/desired/pod-monitor.ts";
import { clientService } from "#cluster/exposure/desired/services.ts";
import { restoreFor } from "#cluster/identity/desired/restore.ts";
import { fencedPeer, revisedPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { firstBackup } from "#cluster/update/desired/first-backup.ts";
import { certificateRequest, trustMap } from "#cluster-tls/issue/desired/certificates.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { born, cluster, LATER_ID, sickFor } from "./cluster.ts";
import { OPERATOR_USER, ROOT_SECRET } from "./cluster-auth.ts";
import { NEWER, OLD, withCrashing } from "./cluster-rolling.ts";
import { secured, unissued } from "./cluster-tls.ts";
import { etcdBackupSchedule } from "./schedule.ts";

export const settled = cluster();

export const identity = settled.cluster.status!.identity!;

export const [m0, m1, m2] = identity.initialMembers.map(({ name, id }) => ({ name, id: memberIdFromHex(id) }));

export const learner = { name: "my-etcd-3", id: memberIdFromHex(LATER_ID) };

export function peerOf(snapshot: ClusterSnapshot, name: string): EtcdPeer {
  return snapshot.peers.find(({ metadata }) => metadata.name === name)!;
}

export function asking(snapshot: ClusterSnapshot, spec: Partial<ClusterSnapshot["cluster"]["spec"]>): ClusterSnapshot {
  return { ...snapshot, cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, ...spec } } };
}

export const certified = secured();

export const seenOf = (snapshot: ClusterSnapshot, purpose: "peerCA" | "peer" | "server") => {
  const found = snapshot.certificates?.[purpose];
  if (found?.is !== "present") throw new Error("the snapshot lacks the Secret");
  return found.value;
};

export const [ownCA, ownLeaf] = [seenOf(certified, "peerCA"), seenOf(certified, "peer")];

const request = certificateRequest(certified, "peer");

const clientsMap = trustMap(certified, "");

/** One step of every kind, each with objects of the snapshot. */
export const STEPS: { readonly [Kind in ClusterStep["do"]]: Extract<ClusterStep, { do: Kind }> } = {
  writeTls: { do: "writeTls", tls: DEFAULT_TLS },
  recordIdentity: { do: "recordIdentity", identity },
  publishClientSecret: { do: "publishClientSecret", source: ownLeaf, facts: ownLeaf, trust: "" },
  recordJoined: { do: "recordJoined", names: ["my-etcd-0"] },
  createRestore: { do: "createRestore", restore: restoreFor(settled, { source: { backupName: "nightly" } }) },
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

export const lost = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);

/** The restart of a member with a container that runs or is crash looping. */
export function restarting(snapshot: ClusterSnapshot, name: string): ClusterStep {
  return { do: "restartPod", name, pod: snapshot.pods.get(name)! };
}

/** Gives a member a template that needs a restart. */
export function giving(snapshot: ClusterSnapshot, name: string, version = NEWER.version): ClusterStep {
  const live = peerOf(snapshot, name);
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...OLD, version }, OLD) };
}

export function creating(spec: EtcdPeer["spec"] | undefined, name = "my-etcd-0"): ClusterStep {
  const { peer } = STEPS.createPeer;
  return { do: "createPeer", peer: { ...peer, metadata: { ...peer.metadata, name }, spec } } as ClusterStep;
}

/** The last member's container is crash looping. */
export const crashing = withCrashing(cluster({ down: ["my-etcd-2"] }), "my-etcd-2");

/** Gives the first member's EtcdPeer this TLS configuration. */
export function speaking(
  snapshot: ClusterSnapshot,
  tls: NonNullable<EtcdPeer["spec"]["tls"]> | undefined,
): ClusterStep {
  const live = peerOf(snapshot, "my-etcd-0");
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...OLD, ...(tls === undefined ? {} : { tls }) }, OLD) };
}

/** Creates an EtcdPeer with this TLS configuration. */
export function bornSpeaking(snapshot: ClusterSnapshot, tls: EtcdPeer["spec"]["tls"]): ClusterStep {
  const { tls: _, ...spec } = peerOf(snapshot, "my-etcd-0").spec;
  return creating({ ...spec, ...(tls === undefined ? {} : { tls }) }, "my-etcd-3");
}

export const tlsOfAll = peerOf(certified, "my-etcd-0").spec.tls!;

export const nobody = unissued({ stage: "recorded" });

/** Issues a new certificate with the existing CA. */
export function issuing(snapshot: ClusterSnapshot, given: object = {}): ClusterStep {
  const facts = { ...seenOf(snapshot, "peer"), ...given };
  return { do: "issueLeaf", purpose: "peer", authority: seenOf(snapshot, "peerCA"), facts };
}

export const unasking = secured({}, { client: { clientCertificates: "NotRequired" } });

/** Changes whether the first member requires client certificates. */
export function asksClients(snapshot: ClusterSnapshot, areRequired: boolean): ClusterStep {
  const { client, ...others } = peerOf(snapshot, "my-etcd-0").spec.tls!;
  const clientCertificates = areRequired ? "Required" : "NotRequired";
  return speaking(snapshot, { ...others, client: { ...client!, clientCertificates } });
}

export function withoutList(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, members: { is: "unknown", why: "no member has a leader" } };
}
