import { ETCD_INDEX } from "#access/calls.ts";
import { absenceFor, isClaimed, isDeleting } from "#access/claim.ts";
import { elderOf } from "#access/namesakes.ts";
import { hindranceOf, onlyRenews } from "#access/place.ts";
import type { AccessReads, PasswordWord } from "#access/reads.ts";
import { userNameOf } from "#api/etcd-names.ts";
import { bindingName } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import type { Clock } from "#base/clock.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { commonNameIn } from "#certificates/common-name.ts";
import { textIn } from "#certificates/facts.ts";
import type { Keyring } from "#certificates/keyring.ts";
import { bundleOf, certificatesIn } from "#certificates/pem.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Pod, SECRETS } from "#kube/kinds.ts";
import type { CacheView, Key } from "#runtime/controller.ts";
import { issuerOf } from "#user/credentials.ts";
import { isBelieved, memberPods, membersRejecting, namedAmong, PASSWORD_KEY } from "#user/facts.ts";
import type { BindingReads } from "#user/reads.ts";
import { type BindingFacts, claimOf, hasPassword, isOwned, type UserSnapshot } from "#user/snapshot.ts";

export interface UserReads {
  readonly users: CacheView<EtcdUser>;
  readonly clusters: Pick<CacheView<EtcdCluster>, "get">;
  readonly peers: Pick<CacheView<EtcdPeer>, "get">;
  readonly pods: CacheView<Pod>;
  readonly access: Pick<AccessReads, "look" | "role" | "user" | "password">;
  readonly bindings: Pick<BindingReads, "look" | "forget">;
  readonly identities: Pick<Keyring, "identityOf">;
  readonly kube: Pick<KubeClient, "find">;
  readonly clock: Clock;
}

const NOTHING = {
  operatorName: undefined,
  access: absent,
  found: absent,
  missingRoles: [],
  password: absent,
  binding: unknown("it was not read yet"),
  signer: absent,
  isIssuedTaken: false,
  request: absent,
  trust: undefined,
  doubters: [],
  isBelieved: false,
} satisfies Partial<UserSnapshot>;

/**
 * Builds the snapshot for one decision. Most answers of etcd and Secrets come from caches; a password is read only to
 * check it against etcd.
 */
export async function observeUser(reads: UserReads, key: Key, signal: AbortSignal): Promise<Observed<UserSnapshot>> {
  const user = reads.users.get(key);
  if (user === undefined) {
    reads.bindings.forget(key);
    return absent;
  }
  const { namespace } = key;
  const clusterName = user.spec.clusterRef.name;
  const cluster = reads.clusters.get({ namespace, name: clusterName });
  const elder = elderOf(user, reads.users.byIndex(ETCD_INDEX, `${namespace}/${clusterName}`), userNameOf);
  const base = { takenAtMs: reads.clock.wallMs(), user, cluster, elder, ...NOTHING };
  if (onlyRenews(cluster)) return present({ ...base, ...(await bindingOf(reads, user, cluster, signal)) });
  if (cluster === undefined || hindranceOf(clusterName, cluster) !== undefined) return present(base);
  const access = await reads.access.look(cluster, signal);
  const identity = reads.identities.identityOf({ namespace, name: clusterName });
  const known = { ...base, access, operatorName: identity && commonNameIn(identity.cert) };
  if (access.is !== "present") return present({ ...known, found: access });
  const name = userNameOf(user);
  const found = await reads.access.user(cluster, name, signal, absenceFor({ object: user, name, cluster }));
  if (isDeleting({ object: user }) || found.is === "unknown" || elder !== undefined)
    return present({ ...known, found });
  const [bound, missingRoles] = await Promise.all([
    bindingOf(reads, user, cluster, signal),
    missingOf(reads, { ...known, found }, cluster, signal),
  ]);
  const password = await passwordOf(reads, { ...known, found, binding: bound.binding }, cluster, signal);
  return present({ ...known, ...bound, found, missingRoles, password });
}

/** The binding Secret, the CA that signs for it, and whether members trust that CA. */
async function bindingOf(reads: UserReads, user: EtcdUser, cluster: EtcdCluster, signal: AbortSignal) {
  const { namespace, name: clusterName } = cluster.metadata;
  const identity = reads.identities.identityOf({ namespace, name: clusterName });
  const bound = await reads.bindings.look(user, cluster, signal);
  const { binding } = bound;
  const isMember = (peer: string) => reads.peers.get({ namespace, name: peer }) !== undefined;
  const pods = reads.pods.byIndex(ETCD_INDEX, `${namespace}/${clusterName}`);
  const members = memberPods(pods, isMember);
  const trust = identity && bundleOf(certificatesIn(identity.ca));
  const isSigner = issuerOf(cluster) === "Operator";
  const signer = isSigner ? namedAmong(trust, bound.signer) : bound.signer;
  return {
    ...bound,
    signer,
    trust,
    doubters: signer.is === "present" ? membersRejecting(members, signer.value, isSigner) : [],
    // A certificate that no member trusts is removed for good. If all EtcdPeers are missing for a moment, their pods
    // still count.
    isBelieved:
      binding.is === "present" && isBelieved(members.length === 0 ? pods : members, binding.value.certificate),
  };
}

/** The roles of spec.roles that the user lacks and that etcd does not have. */
async function missingOf(
  { access }: UserReads,
  { user, found }: UserSnapshot,
  cluster: EtcdCluster,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const has = found.is === "present" ? found.value : [];
  const lacking = user.spec.roles.filter((role) => !has.includes(role));
  const seen = await Promise.all(lacking.map((role) => access.role(cluster, role, signal)));
  return lacking.filter((_, index) => seen[index]?.is !== "present");
}

/**
 * Whether the user has the password of the binding. Without auth etcd cannot check it, so status.passwordFrom counts.
 */
async function passwordOf(
  reads: UserReads,
  snapshot: UserSnapshot,
  cluster: EtcdCluster,
  signal: AbortSignal,
): Promise<Observed<PasswordWord>> {
  const { user, found, binding } = snapshot;
  if (!hasPassword(snapshot) || found.is !== "present" || binding.is !== "present") return absent;
  const { uid, resourceVersion, passwordTrouble } = binding.value;
  // etcd truncates a password that it refuses, so the comparison could succeed wrongly.
  if (!isOwned(snapshot, binding.value) || !binding.value.hasPassword || passwordTrouble !== undefined) return absent;
  const read = async () => await readPassword(reads.kube, user, binding.value, signal);
  const said = await reads.access.password(cluster, userNameOf(user), versionOf(binding.value), read, signal);
  if (said.is === "unknown") reads.bindings.forget(user.metadata); // The Secret may have changed.
  if (said.is !== "absent") return said;
  const set = isClaimed(claimOf(snapshot)) ? user.status?.passwordFrom : undefined;
  return present(set?.uid === uid && set.resourceVersion === resourceVersion ? "fits" : "differs");
}

/** Identifies the password without revealing it. */
export function versionOf({ uid, resourceVersion }: Pick<BindingFacts, "uid" | "resourceVersion">): string {
  return `${uid} ${resourceVersion}`;
}

/**
 * The password of the Secret version that was read; undefined when the Secret has changed or cannot be read. @throws
 * OperatorError Cancelled
 */
export async function readPassword(
  kube: Pick<KubeClient, "find">,
  { metadata: { namespace, name } }: EtcdUser,
  { uid, resourceVersion }: BindingFacts,
  signal: AbortSignal,
): Promise<string | undefined> {
  const live = await kube.find(SECRETS, { namespace, name: bindingName(name) }, { signal });
  if (live.is !== "present") return undefined;
  const { metadata } = live.value;
  if (metadata.uid !== uid || metadata.resourceVersion !== resourceVersion) return undefined;
  return textIn(live.value, PASSWORD_KEY);
}
