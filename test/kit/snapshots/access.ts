import { wantedPermissions } from "#access/permissions.ts";
import { clusterIdOf } from "#access/place.ts";
import { ROLE_FINALIZER, USER_FINALIZER } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { roleSpecSchema } from "#api/v1beta1/role-schema.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { userSpecSchema } from "#api/v1beta1/user-schema.ts";
import { type Observed, present } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { CertificateFacts } from "#certificates/facts.ts";
import type { Permission } from "#etcd/auth.ts";
import { apiVersionOf, type Certificate, type Draft } from "#kube/kinds.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import { issuerOf, madeForOf, orderOf } from "#user/credentials.ts";
import { bindingTexts } from "#user/desired/binding.ts";
import { bindingRequest } from "#user/desired/request.ts";
import type { BindingFacts, UserSnapshot } from "#user/snapshot.ts";
import { born, cluster, NOW } from "./cluster.ts";
import { bundle, NEXT, OWN, tlsSpec } from "./cluster-tls.ts";

// Snapshots of EtcdRole `reader` and EtcdUser `app` of EtcdCluster my-etcd in namespace foo, in the settled state.

const DAY_MS = 86_400_000;

/**
 * The cluster, with TLS of provider Operator.
 * @param tls as people write it; null for none
 * @param change overrides of the whole object
 */
export function etcdOf(
  tls: object | null = {},
  change: { spec?: object; metadata?: object; status?: object } = {},
): EtcdCluster {
  const { cluster: whole } = cluster();
  const { tls: _, ...plain } = whole.spec;
  return {
    ...whole,
    metadata: { ...whole.metadata, ...change.metadata },
    spec: { ...plain, ...(tls === null ? {} : { tls: tlsSpec(tls) }), ...change.spec },
    status: { ...whole.status, members: [member("my-etcd-0")], ...change.status },
  };
}

function member(name: string) {
  return { name, id: "1", role: "Leader" as const, health: "Healthy" as const };
}

interface Metadata {
  readonly name?: string;
  readonly uid?: string;
  /** Default: with the finalizer of its kind. */
  readonly held?: boolean;
  readonly deleting?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
}

function metadataOf(name: string, finalizer: string, given: Metadata) {
  const { uid = `uid-of-${given.name ?? name}`, held = true, deleting = false, annotations } = given;
  return {
    namespace: "foo",
    name: given.name ?? name,
    uid,
    resourceVersion: "50",
    generation: 1,
    creationTimestamp: given.creationTimestamp ?? rfc3339(NOW - DAY_MS),
    finalizers: held ? ["theirs", finalizer] : ["theirs"],
    ...(annotations === undefined ? {} : { annotations }),
    ...(deleting ? { deletionTimestamp: rfc3339(NOW) } : {}),
  };
}

export interface GivenRole extends Metadata {
  /** The spec as a person would write it. Default: read access to orders/. */
  readonly spec?: object;
  /**
   * Whether the status records that the operator owns the role in etcd; true by default.
   * @see elsewhere recorded for an earlier etcd
   */
  readonly claimed?: boolean | "elsewhere";
}

export function etcdRole(given: GivenRole = {}): EtcdRole {
  const permissions = [{ access: "Read", prefix: "orders/" }];
  const spec = roleSpecSchema.parse({ clusterRef: { name: "my-etcd" }, permissions, ...given.spec });
  const metadata = metadataOf("reader", ROLE_FINALIZER, given);
  const roleName = spec.roleName ?? metadata.name;
  const status = given.claimed === false ? {} : { roleName, clusterID: recordedId(given) };
  return { apiVersion: apiVersionOf(ETCD_ROLES), kind: ETCD_ROLES.kind, metadata, spec, status };
}

function recordedId({ claimed }: Pick<GivenRole, "claimed">): string {
  return claimed === "elsewhere" ? "an earlier etcd" : clusterIdOf(etcdOf());
}

interface GivenRoleLook extends GivenRole {
  readonly cluster?: EtcdCluster | undefined;
  readonly elder?: string;
  readonly access?: RoleSnapshot["access"];
  readonly found?: Observed<readonly Permission[]>;
}

export function roleLook(given: GivenRoleLook = {}): RoleSnapshot {
  const role = etcdRole(given);
  return {
    takenAtMs: NOW,
    role,
    cluster: "cluster" in given ? given.cluster : etcdOf(),
    elder: given.elder,
    access: given.access ?? present({ enabled: true }),
    found: given.found ?? present(wantedPermissions(role.spec.permissions)),
  };
}

export interface GivenUser extends Metadata {
  /** The spec as a person would write it. Default: role reader. */
  readonly spec?: object;
  readonly claimed?: boolean | "elsewhere";
  readonly status?: EtcdUser["status"];
}

export function etcdUser(given: GivenUser = {}): EtcdUser {
  const spec = userSpecSchema.parse({ clusterRef: { name: "my-etcd" }, roles: ["reader"], ...given.spec });
  const metadata = metadataOf("app", USER_FINALIZER, given);
  const record = { userName: spec.userName ?? metadata.name, clusterID: recordedId(given) };
  const status = { ...(given.claimed === false ? {} : record), ...given.status };
  return { apiVersion: apiVersionOf(ETCD_USERS), kind: ETCD_USERS.kind, metadata, spec, status };
}

/** Facts about the Secret of a CA. */
export function signerOf(by = OWN, change: Partial<CertificateFacts> = {}): CertificateFacts {
  return {
    secretName: "my-etcd-client-ca",
    uid: "uid-of-my-etcd-client-ca",
    resourceVersion: "7",
    writtenAtMs: undefined,
    ownerUid: "uid-of-my-etcd",
    notBeforeMs: NOW - 100 * DAY_MS,
    notAfterMs: NOW + 3_550 * DAY_MS,
    lifeMs: 3_650 * DAY_MS,
    fingerprint: by.id,
    issuerName: "CN=ca",
    commonName: "ca",
    names: [],
    usages: [],
    trust: bundle(by),
    trustIds: [by.id],
    signerId: by.id,
    nextId: undefined,
    rotatedFor: undefined,
    certificateName: undefined,
    madeFor: undefined,
    given: undefined,
    mayBeShown: false,
    trouble: undefined,
    ...change,
  };
}

interface GivenUserLook extends GivenUser {
  readonly cluster?: EtcdCluster | undefined;
  readonly with?: Partial<UserSnapshot>;
  /** Overrides of its binding; null for no binding. */
  readonly bound?: Partial<BindingFacts> | null;
  /** Overrides of the certificate in the binding; null for no certificate. */
  readonly pair?: Partial<CertificateFacts> | null;
}

export function userLook(given: GivenUserLook = {}): UserSnapshot {
  const user = etcdUser(given);
  const its = "cluster" in given ? given.cluster : etcdOf();
  const issuer = its && issuerOf(its);
  const hasPassword = user.spec.authentication.type === "Password";
  const trust = its?.spec.tls === undefined || its.spec.tls.client.provider === "None" ? undefined : bundle(OWN);
  const signer =
    issuer === "CertManager" && its ? issuedFacts({ commonName: orderOf(user, its).commonName ?? "" }) : signerOf();
  const snapshot: UserSnapshot = {
    takenAtMs: NOW,
    user,
    cluster: its,
    elder: undefined,
    operatorName: "etcd-cluster-operator",
    access: present({ enabled: true }),
    found: present(user.spec.roles),
    missingRoles: [],
    password: hasPassword ? present("fits") : { is: "absent" },
    binding: { is: "absent" },
    signer: issuer === undefined ? { is: "absent" } : present(signer),
    isIssuedTaken: false,
    request: issuer === "CertManager" && its ? present(requested(bindingRequest(user, its))) : { is: "absent" },
    trust,
    doubters: [],
    isBelieved: true,
  };
  const binding = given.bound === null || its === undefined ? snapshot.binding : present(boundAs(snapshot, given));
  return { ...snapshot, binding, ...given.with };
}

function requested(draft: Draft<Certificate>): Certificate {
  return born<Certificate>(draft);
}

/** The certificate that cert-manager has issued for the binding of a user with a password. */
export function issuedFacts(change: Partial<CertificateFacts> = {}): CertificateFacts {
  const pair = { fingerprint: "issued", certificateName: "app-binding-tls", secretName: "app-binding-tls" };
  return signerOf(OWN, { ...pair, commonName: "", notAfterMs: NOW + 80 * DAY_MS, ...change });
}

/** The binding as the operator wrote it a day ago. */
function boundAs(snapshot: UserSnapshot, { bound, pair }: GivenUserLook): BindingFacts {
  const { user, cluster: its, trust } = snapshot;
  if (its === undefined) throw new Error("a binding needs a cluster");
  const isPaired = issuerOf(its) !== undefined && pair !== null;
  const leaf = signerOf(OWN, {
    ...{ secretName: "app-binding", fingerprint: issuerOf(its) === "CertManager" ? "issued" : "leaf" },
    ...{ notAfterMs: NOW + 80 * DAY_MS, commonName: orderOf(user, its).commonName ?? "" },
    ...{ madeFor: madeForOf(user, its), ...pair },
  });
  return {
    name: `${user.metadata.name}-binding`,
    uid: "uid-of-app-binding",
    resourceVersion: "90",
    ownerUid: user.metadata.uid,
    texts: { ...bindingTexts(user, its, trust), ...(isPaired ? { "tls.crt": "leaf" } : {}) },
    hasPassword: user.spec.authentication.type === "Password",
    passwordTrouble: undefined,
    trustIds: trust === undefined ? [] : [OWN.id],
    certificate: isPaired ? leaf : undefined,
    rotatedAtMs: NOW - DAY_MS,
    rotatedFor: undefined,
    given: undefined,
    ...bound,
  };
}

export { NEXT, OWN };
