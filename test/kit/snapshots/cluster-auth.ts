import type { EtcdCluster, Unmanaged } from "#api/v1beta1/cluster.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import type { AuthState, RootSecret, SeenAuth } from "#cluster/auth/seen.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { made, secured, tlsSpec, withSeen } from "./cluster-tls.ts";
import { issuedBy } from "./tls-status.ts";

// Snapshots of clusters (cluster-tls.ts) with etcd's users. test/etcd/auth.test.ts checks the answers of a real etcd.

export const OPERATOR_USER = "etcd-cluster-operator";
export const ROOT_SECRET: RootSecret = { name: "my-etcd-root", version: "uid-of-root 1", trouble: undefined };

/** No user or role exists yet. */
export const NO_USERS: AuthState = {
  enabled: false,
  operator: undefined,
  next: undefined,
  root: undefined,
  isRootsPassword: false,
};
/** Users and roles exist, and authentication is not enabled yet. */
export const PREPARED: AuthState = {
  enabled: false,
  operator: ["root"],
  next: undefined,
  root: ["root"],
  isRootsPassword: true,
};
export const LOCKED: AuthState = { ...PREPARED, enabled: true };
/** Authentication is enabled, and etcd does not know the operator's user. */
export const LOCKED_OUT: AuthState = {
  enabled: true,
  operator: undefined,
  next: undefined,
  root: undefined,
  isRootsPassword: false,
};

interface Given {
  /** spec.auth.enabled; undefined: no spec.auth. */
  readonly wanted?: boolean | undefined;
  readonly state?: AuthState | Observed<AuthState>;
  readonly secret?: Partial<RootSecret> | undefined;
  readonly user?: string | undefined;
  /** Common name of its next certificate. */
  readonly next?: string;
  /** EtcdUsers by the names of their users in etcd. */
  readonly holders?: Readonly<Record<string, string>>;
  readonly recorded?: boolean;
  /** The operator's users in the status. */
  readonly operators?: string[];
  /** Users and roles in etcd without EtcdUsers and EtcdRoles; undefined when etcd does not answer. */
  readonly unmanaged?: Unmanaged | undefined;
  /** The unmanaged users and roles in the status. */
  readonly toldUnmanaged?: Unmanaged;
}

/** The snapshot with this wish and state of authentication. By default it is wanted and enabled. */
export function withAuth(snapshot: ClusterSnapshot, given: Given = {}): ClusterSnapshot {
  const { state = LOCKED, recorded, operators, unmanaged, toldUnmanaged } = given;
  const record = {
    enabled: recorded ?? false,
    ...(operators && { operators }),
    ...(toldUnmanaged && { unmanaged: toldUnmanaged }),
  };
  const wanted = "wanted" in given ? given.wanted : true;
  const auth: SeenAuth = {
    user: "user" in given ? given.user : OPERATOR_USER,
    next: given.next,
    holders: new Map(Object.entries(given.holders ?? {})),
    rootSecret: "secret" in given && given.secret === undefined ? absent : present({ ...ROOT_SECRET, ...given.secret }),
    state: "is" in state ? state : present(state),
    unmanaged,
  };
  const { auth: _, ...spec } = snapshot.cluster.spec;
  const cluster: EtcdCluster = {
    ...snapshot.cluster,
    spec: { ...spec, ...(wanted === undefined ? {} : { auth: { enabled: wanted } }) },
    ...(recorded === undefined && operators === undefined && toldUnmanaged === undefined
      ? {}
      : { status: { ...snapshot.cluster.status, auth: record } }),
  };
  return { ...snapshot, cluster, auth };
}

/** A settled cluster with TLS and this wish and state of authentication. */
export function guarded(given: Given = {}, tls: object = {}): ClusterSnapshot {
  return withAuth(secured({}, tls), given);
}

/** A cluster with authentication that changes to people's Secrets, in which the operator has another common name. */
export function movingTo(given: Given, commonName: string | undefined = "bob"): ClusterSnapshot {
  const base = guarded({ recorded: true, ...given });
  const secret = { server: { name: "theirs" }, operator: { name: "theirs-too" } };
  const own = { provider: "Operator" } as const;
  const cluster = {
    ...base.cluster,
    spec: { ...base.cluster.spec, tls: tlsSpec({ client: { provider: "Secret", secret } }) },
    status: issuedBy(base.cluster.status, { peer: own, client: own }),
  };
  const moved = { ...base, cluster } as ClusterSnapshot;
  return withSeen(moved, { operator: present(made(moved, "operator", { isOurs: false, commonName })) });
}
