import type { EtcdCluster, Unmanaged } from "#api/v1beta1/cluster.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import type { AuthState, RootSecret, SeenAuth } from "#cluster/auth/seen.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { made, secured, tlsSpec, withSeen } from "./cluster-tls.ts";

// Snapshots of clusters (cluster-tls.ts) with etcd's users. What etcd really says is asked in test/etcd/auth.test.ts.

export const OPERATOR_USER = "etcd-cluster-operator";
export const ROOT_SECRET: RootSecret = { name: "my-etcd-root", version: "uid-of-root 1", trouble: undefined };

/** Nothing of users is there yet. */
export const NO_USERS: AuthState = {
  enabled: false,
  operator: undefined,
  next: undefined,
  root: undefined,
  isRootsPassword: false,
};
/** All is there, and nobody has to log in yet. */
export const PREPARED: AuthState = {
  enabled: false,
  operator: ["root"],
  next: undefined,
  root: ["root"],
  isRootsPassword: true,
};
export const LOCKED: AuthState = { ...PREPARED, enabled: true };
/** etcd asks for users, and does not know the operator. */
export const LOCKED_OUT: AuthState = {
  enabled: true,
  operator: undefined,
  next: undefined,
  root: undefined,
  isRootsPassword: false,
};

interface Given {
  /** What spec.auth.enabled says; undefined: there is no spec.auth. */
  readonly wanted?: boolean | undefined;
  readonly state?: AuthState | Observed<AuthState>;
  readonly secret?: Partial<RootSecret> | undefined;
  readonly user?: string | undefined;
  /** What its next certificate names. */
  readonly next?: string;
  /** EtcdUsers by the names of their users. */
  readonly holders?: Readonly<Record<string, string>>;
  readonly recorded?: boolean;
  /** The operator's users that are on record. */
  readonly operators?: string[];
  /** What etcd has beside EtcdUsers and EtcdRoles; undefined: it does not tell. */
  readonly unmanaged?: Unmanaged | undefined;
  /** The same on record. */
  readonly toldUnmanaged?: Unmanaged;
}

/** The snapshot in which this is asked for, and seen, of users; by default they are asked for and all is there. */
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

/** A settled cluster with TLS, of which this is asked and seen. */
export function guarded(given: Given = {}, tls: object = {}): ClusterSnapshot {
  return withAuth(secured({}, tls), given);
}

/** A cluster with users that is to show what somebody brings, by which the operator is somebody else. */
export function movingTo(given: Given, commonName: string | undefined = "bob"): ClusterSnapshot {
  const base = guarded({ recorded: true, ...given });
  const secret = { serverSecretName: "theirs", operatorClientSecretName: "theirs-too" };
  const own = { provider: "Operator" } as const;
  const cluster = {
    ...base.cluster,
    spec: { ...base.cluster.spec, tls: tlsSpec({ client: { provider: "Secret", secret } }) },
    status: { ...base.cluster.status, issuedBy: { peer: own, client: own } },
  };
  const moved = { ...base, cluster } as ClusterSnapshot;
  return withSeen(moved, { operator: present(made(moved, "operator", { isOurs: false, commonName })) });
}
