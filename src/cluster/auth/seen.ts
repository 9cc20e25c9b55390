import type { Unmanaged } from "#api/v1beta1/cluster.ts";
import type { Observed } from "#base/observed.ts";

/** What may be known of the Secret with the password of the user root: all but the password. */
export interface RootSecret {
  readonly name: string;
  /** Which Secret it is, and of which edit. */
  readonly version: string;
  /** Why its password is not taken, as a clause; undefined when it is. */
  readonly trouble: string | undefined;
}

/** etcd's users, as far as the operator has to do with them. */
export interface AuthState {
  readonly enabled: boolean;
  /** The roles of the user that the operator is; undefined when there is no such user. */
  readonly operator: readonly string[] | undefined;
  /** The roles of the user that the operator is about to be; undefined when there is no such user, or it may not ask. */
  readonly next: readonly string[] | undefined;
  /** The roles of the user root; undefined when there is none, or the operator may not ask. */
  readonly root: readonly string[] | undefined;
  /** Whether the password of the user root is known to be the one in the Secret. */
  readonly isRootsPassword: boolean;
  /** Whether root was made without a password: etcd gives it none, whoever asks. Seen only while etcd asks for users. */
  readonly isRootWithoutPassword?: true;
}

/** What one look knows of etcd's users. */
export interface SeenAuth {
  /** The common name by which etcd knows the operator; undefined while it has no certificate that can be read. */
  readonly user: string | undefined;
  /** The common name by which it is about to be known, as auth/users.ts says; undefined when that does not change. */
  readonly next: string | undefined;
  /** EtcdUsers of the cluster, by the names of their users in etcd. */
  readonly holders: ReadonlyMap<string, string>;
  readonly rootSecret: Observed<RootSecret>;
  /** Never `absent`. */
  readonly state: Observed<AuthState>;
  /** Users and roles that people have made beside EtcdUsers and EtcdRoles; undefined while etcd does not tell. */
  readonly unmanaged?: Unmanaged | undefined;
}
