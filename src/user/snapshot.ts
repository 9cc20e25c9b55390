import type { Claim } from "#access/claim.ts";
import type { PasswordWord } from "#access/reads.ts";
import { userNameOf } from "#api/etcd-names.ts";
import { USER_FINALIZER } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import type { Observed } from "#base/observed.ts";
import type { CertificateFacts } from "#certificates/facts.ts";
import type { Certificate } from "#kube/kinds.ts";

/** The facts of a binding Secret, without its password and key. */
export interface BindingFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Uid of the Secret's controller; undefined when it has none. */
  readonly ownerUid: string | undefined;
  readonly texts: Readonly<Record<string, string>>;
  readonly hasPassword: boolean;
  /** Why etcd would refuse the password, as a clause that quotes nothing of it. */
  readonly passwordTrouble: string | undefined;
  /** SHA-256 of each CA in ca.crt. */
  readonly trustIds: readonly string[];
  /** Facts of the certificate; undefined when neither certificate nor key is there. */
  readonly certificate: CertificateFacts | undefined;
  /** When the credentials were created, in milliseconds since 1970; undefined when it is not recorded. */
  readonly rotatedAtMs: number | undefined;
  /** The value of the rotate annotation for which they were created. */
  readonly rotatedFor: string | undefined;
  /** Identifies the labels and annotations that spec.bindingSecret gave it; undefined when it gave none. */
  readonly given: string | undefined;
}

/**
 * Everything that the rules and guards may use for one decision about an EtcdUser. Built by observe.ts, then read-only.
 */
export interface UserSnapshot {
  /** Time of the snapshot in milliseconds since 1970; rules and guards use no other clock. */
  readonly takenAtMs: number;
  readonly user: EtcdUser;
  readonly cluster: EtcdCluster | undefined;
  /** The older EtcdUser with the same name in etcd, if there is one. */
  readonly elder: string | undefined;
  /** The etcd user that the operator logs in as; undefined when it has no client certificate. */
  readonly operatorName: string | undefined;
  /** Whether auth is enabled; `absent` when the EtcdCluster's state already rules out asking etcd. */
  readonly access: Observed<{ readonly enabled: boolean }>;
  /** The roles of the user in etcd; `absent` when the user does not exist. */
  readonly found: Observed<readonly string[]>;
  /** The roles of spec.roles that the user lacks and that do not exist in etcd. */
  readonly missingRoles: readonly string[];
  /** Whether the user has the binding's password; `absent` when there is nothing to check. */
  readonly password: Observed<PasswordWord>;
  readonly binding: Observed<BindingFacts>;
  /** The cluster's CA if the operator issues, or the certificate that cert-manager has issued. */
  readonly signer: Observed<CertificateFacts>;
  /** Whether the Secret that cert-manager would write has another owner. */
  readonly isIssuedTaken: boolean;
  /** The cert-manager Certificate. */
  readonly request: Observed<Certificate>;
  /** The CAs that sign members' certificates, in PEM; undefined without TLS, or when not known yet. */
  readonly trust: string | undefined;
  /** Names of the members that do not trust the signer. */
  readonly doubters: readonly string[];
  /** Whether some member trusts the CA of the binding's certificate. */
  readonly isBelieved: boolean;
}

/** The relation between the EtcdUser and the user in etcd. */
export function claimOf({ user, cluster, elder, found }: UserSnapshot): Claim {
  return { kind: "EtcdUser", object: user, name: userNameOf(user), finalizer: USER_FINALIZER, cluster, elder, found };
}

export function hasPassword({ user }: Pick<UserSnapshot, "user">): boolean {
  return user.spec.authentication.type === "Password";
}

export function isOwned({ user }: Pick<UserSnapshot, "user">, { ownerUid }: Pick<BindingFacts, "ownerUid">): boolean {
  return ownerUid === user.metadata.uid;
}

/** Whether the operator logs in as this user, now or soon. */
export function isOperatorsOwn({
  user,
  cluster,
  operatorName,
}: Pick<UserSnapshot, "user" | "cluster" | "operatorName">): boolean {
  const name = userNameOf(user);
  return name === operatorName || cluster?.status?.auth?.operators?.includes(name) === true;
}

/** Whether requesting the certificate would make cert-manager overwrite a Secret with another owner. */
export function wouldOverwrite({ request, isIssuedTaken }: Pick<UserSnapshot, "request" | "isIssuedTaken">): boolean {
  // With an existing request the Secret has already been overwritten.
  return isIssuedTaken && request.is !== "present";
}

/** The binding, if this EtcdUser owns it. */
export function ownBinding(snapshot: Pick<UserSnapshot, "user" | "binding">): BindingFacts | undefined {
  const { binding } = snapshot;
  return binding.is === "present" && isOwned(snapshot, binding.value) ? binding.value : undefined;
}
