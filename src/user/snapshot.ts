import type { Claim } from "#access/claim.ts";
import type { PasswordWord } from "#access/reads.ts";
import { userNameOf } from "#api/etcd-names.ts";
import { USER_FINALIZER } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import type { Observed } from "#base/observed.ts";
import type { CertificateFacts } from "#certificates/facts.ts";
import type { Certificate } from "#kube/kinds.ts";

/** What the binding Secret says, but for the password and the key. */
export interface BindingFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Uid of who manages the Secret; undefined when nobody does. */
  readonly ownerUid: string | undefined;
  readonly texts: Readonly<Record<string, string>>;
  readonly hasPassword: boolean;
  /** Why etcd would not take it, as a clause that quotes nothing of it. */
  readonly passwordTrouble: string | undefined;
  /** The authorities that it says to trust: SHA-256 of each of them. */
  readonly trustIds: readonly string[];
  /** Of the pair in it; undefined when there is none, nor half of one. */
  readonly certificate: CertificateFacts | undefined;
  /** When its credentials were made, in milliseconds since 1970; undefined when it does not say. */
  readonly rotatedAtMs: number | undefined;
  /** For which value of the annotation that asks for new ones. */
  readonly rotatedFor: string | undefined;
}

/** All that one decision about an EtcdUser may use. Built by observe.ts, read-only ever after. */
export interface UserSnapshot {
  /** Milliseconds since 1970: the only "now" that a rule knows. */
  readonly takenAtMs: number;
  readonly user: EtcdUser;
  readonly cluster: EtcdCluster | undefined;
  /** The EtcdUser that has the name in etcd, when it is another one. */
  readonly elder: string | undefined;
  /** As whom the operator itself is known to etcd; undefined where it shows no certificate. */
  readonly operatorName: string | undefined;
  /** Whether users must log in; `absent` when the EtcdCluster says by itself that nobody is to be asked. */
  readonly access: Observed<{ readonly enabled: boolean }>;
  /** The roles of the user, as etcd has them; `absent` when there is no such user. */
  readonly found: Observed<readonly string[]>;
  /** Those of spec.roles that the user lacks and that are not in etcd. */
  readonly missingRoles: readonly string[];
  /** Whether the user has the password of the binding; `absent` when there is none to ask about. */
  readonly password: Observed<PasswordWord>;
  readonly binding: Observed<BindingFacts>;
  /** Who signs, where the operator does: the cluster's authority. Where cert-manager does: what it has signed. */
  readonly signer: Observed<CertificateFacts>;
  /** Whether the Secret that cert-manager would fill is somebody else's, whom it would write over. */
  readonly isIssuedTaken: boolean;
  /** What cert-manager is asked for. */
  readonly request: Observed<Certificate>;
  /** By whom members' certificates are signed, in PEM; undefined without TLS, and while that is not known. */
  readonly trust: string | undefined;
  /** Members that do not believe whom the signer has signed, by name. */
  readonly doubters: readonly string[];
  /** Whether some member believes who has signed the certificate in the binding. */
  readonly isBelieved: boolean;
}

/** What the EtcdUser and the user in etcd have to do with each other. */
export function claimOf({ user, cluster, elder, found }: UserSnapshot): Claim {
  return { kind: "EtcdUser", object: user, name: userNameOf(user), finalizer: USER_FINALIZER, cluster, elder, found };
}

export function hasPassword({ user }: Pick<UserSnapshot, "user">): boolean {
  return user.spec.authentication === "Password";
}

export function isOwned({ user }: Pick<UserSnapshot, "user">, { ownerUid }: Pick<BindingFacts, "ownerUid">): boolean {
  return ownerUid === user.metadata.uid;
}

/** Whether the user is the operator's own, or is about to be. */
export function isOperators({
  user,
  cluster,
  operatorName,
}: Pick<UserSnapshot, "user" | "cluster" | "operatorName">): boolean {
  const name = userNameOf(user);
  return name === operatorName || cluster?.status?.auth?.operators?.includes(name) === true;
}

/** Whether cert-manager is about to be asked to write over a Secret of somebody else. */
export function wouldOverwrite({ request, isIssuedTaken }: Pick<UserSnapshot, "request" | "isIssuedTaken">): boolean {
  // Where it has been asked already, it has done so.
  return isIssuedTaken && request.is !== "present";
}

/** The binding, if it is this object's. */
export function ownBinding(snapshot: Pick<UserSnapshot, "user" | "binding">): BindingFacts | undefined {
  const { binding } = snapshot;
  return binding.is === "present" && isOwned(snapshot, binding.value) ? binding.value : undefined;
}
