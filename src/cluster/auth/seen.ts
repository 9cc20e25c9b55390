import type { Unmanaged } from "#api/v1beta1/cluster.ts";
import type { Observed } from "#base/observed.ts";

/** What may be known of the Secret with root's password: all but the password. */
export interface RootSecret {
  readonly name: string;
  /** The uid and resourceVersion of the Secret. */
  readonly version: string;
  /** Why its password is not used, as a clause; undefined when it is. */
  readonly trouble: string | undefined;
}

/** Users of etcd that concern the operator. */
export interface AuthState {
  readonly enabled: boolean;
  /** Roles of the operator's user; undefined when there is no such user. */
  readonly operator: readonly string[] | undefined;
  /** Roles of the operator's next user; undefined when there is no such user, or the operator may not query it. */
  readonly next: readonly string[] | undefined;
  /** Roles of root; undefined when there is no such user, or the operator may not query it. */
  readonly root: readonly string[] | undefined;
  /** Whether root's password is known to be the one in the Secret. */
  readonly isRootsPassword: boolean;
  /**
   * Whether root was created without a password, which etcd never gives it later. Detected only while authentication is
   * on.
   */
  readonly isRootWithoutPassword?: true;
}

/** What an observation contains about users of etcd. */
export interface SeenAuth {
  /** The common name of the operator's certificate; undefined while no certificate can be read. */
  readonly user: string | undefined;
  /** The common name of its next certificate, see auth/users.ts; undefined when it does not change. */
  readonly next: string | undefined;
  /** EtcdUsers of the cluster, by the names of their users in etcd. */
  readonly holders: ReadonlyMap<string, string>;
  readonly rootSecret: Observed<RootSecret>;
  /** Never `absent`. */
  readonly state: Observed<AuthState>;
  /** Users and roles created beside EtcdUsers and EtcdRoles; undefined while etcd does not answer. */
  readonly unmanaged?: Unmanaged | undefined;
}
