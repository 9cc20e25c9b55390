import { bindingName, OPERATOR, ROOT, rootSecretName } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { textIn } from "#certificates/facts.ts";
import { hexOf } from "#etcd/types.ts";
import type { AuthStore } from "#kit/world/auth.ts";
import { isOfUse } from "#kit/world/users.ts";
import type { World } from "#kit/world/world.ts";
import { SECRETS } from "#kube/kinds.ts";
import { asksWhoConnects, isAdministrator, usersOf } from "./auth-memory.ts";
import type { Invariant } from "./memory.ts";

// Auth promises that no step of the operator locks out a client or the operator. Excused are changes that a person
// makes with etcdctl, or to a Secret, between an observation and the step that follows.

/**
 * Maximum age of etcd's answer in the status, in milliseconds: etcd is asked once a minute, and an observation takes
 * time.
 */
const MAX_AGE_MS = 75_000;

/** Value of spec.auth.enabled that each step about users needs. */
const WANTED: Readonly<Record<string, boolean>> = {
  createRootSecret: true,
  setRootPassword: true,
  addUser: true,
  grantRole: true,
  enableAuth: true,
  disableAuth: false,
};

export const authFollowsSpec: Invariant = {
  name: "auth follows the spec",
  promise: "The operator changes etcd's users only as spec.auth asks, and only the operator's and root.",
  breaks(event) {
    if (event.is !== "acts" || !("cluster" in event.snapshot)) return undefined;
    const { step, snapshot } = event;
    const wanted = WANTED[step.do];
    if (wanted === undefined) return undefined;
    const said = snapshot.cluster.spec.auth?.enabled;
    if (said !== wanted) return `${step.do}, and spec.auth.enabled is ${said}`;
    if (step.do !== "addUser" && step.do !== "grantRole") return undefined;
    return step.user === OPERATOR || step.user === ROOT ? undefined : `${step.do} of ${step.user}`;
  },
};

export const authIsEnabledLast: Invariant = {
  name: "auth is enabled last",
  promise: "Auth is enabled only when the operator and root can log in, at every running member.",
  breaks(event, world, memory) {
    if (event.is !== "acts" || event.step.do !== "enableAuth" || !("cluster" in event.snapshot)) return undefined;
    const { cluster } = event.snapshot;
    const store = usersOf(world, cluster);
    if (store === undefined || memory.auth.isEditedSince(cluster, event.lookedFrom)) return undefined;
    const name = [OPERATOR, ROOT].find((user) => !isAdministrator(store, user));
    if (name !== undefined) return `${name} is not an administrator`;
    if (!hasSecretsPassword(world, cluster, store)) return "root's password differs from its Secret";
    return memberWithoutVerification(world, cluster);
  },
};

export const noLockout: Invariant = {
  name: "no lockout",
  promise: "While auth is enabled, every member verifies clients, and the operator stays an administrator.",
  breaks(event, world, memory) {
    if (event.is !== "step") return undefined;
    for (const cluster of world.api.list(ETCD_CLUSTERS)) {
      if (cluster.spec.auth === undefined && cluster.status?.auth === undefined) continue;
      const store = usersOf(world, cluster);
      if (store?.enabled !== true) continue;
      if (!isAdministrator(store, OPERATOR) && !memory.auth.isOutOfOrder(cluster, "administrator"))
        return "the operator is not an administrator";
      const silent = memory.auth.isOutOfOrder(cluster, "asking")
        ? undefined
        : memberWithoutVerification(world, cluster);
      if (silent !== undefined) return silent;
    }
    return undefined;
  },
};

export const authStatusIsTrue: Invariant = {
  name: "auth status is true",
  promise: "status.auth.enabled follows the answer of etcd, and never precedes it.",
  breaks(event, world, memory) {
    if (event.is !== "clusterStatus" || event.snapshot.auth?.state.is !== "present") return undefined;
    const { status, snapshot, lookedFrom } = event;
    if (status.auth === undefined) return undefined;
    const since = { step: lookedFrom - 1, ms: world.time.nowMs - MAX_AGE_MS };
    if (memory.auth.wasSo(snapshot.cluster, status.auth.enabled, since)) return undefined;
    return `status.auth.enabled is ${status.auth.enabled}`;
  },
};

/** Suffixes of the names of Secrets with passwords. */
const HOLDERS = [rootSecretName(""), bindingName("")];

export const passwordsStay: Invariant = {
  name: "passwords stay in Secrets",
  promise: "No password is written to any other object than a Secret.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource === SECRETS) return undefined;
    if (event.after === undefined) return undefined;
    const secrets = world.api
      .list(SECRETS)
      .filter(({ metadata }) => HOLDERS.some((end) => metadata.name.endsWith(end)));
    if (secrets.length === 0) return undefined;
    const written = JSON.stringify(event.after);
    const told = secrets.find((secret) => {
      const password = textIn(secret, "password");
      return password !== "" && written.includes(password);
    });
    return told && `${event.resource.kind} ${event.after.metadata.name} has the password of ${told.metadata.name}`;
  },
};

function hasSecretsPassword({ api }: World, { metadata }: EtcdCluster, { users }: AuthStore): boolean {
  const secret = api.find(SECRETS, { namespace: metadata.namespace, name: rootSecretName(metadata.name) });
  return secret !== undefined && users.get(ROOT)?.password === textIn(secret, "password");
}

function memberWithoutVerification(world: World, { metadata, status }: EtcdCluster): string | undefined {
  const silent = [...world.etcd.processes.values()].find(
    (process) =>
      process.clusterUid === metadata.uid &&
      hexOf(process.data.clusterId) === status?.identity?.clusterID &&
      !asksWhoConnects(process),
  );
  return silent && `${silent.peer} verifies no clients`;
}

/** State of etcd's users, by etcd and the Secret of root. */
export interface UsersVerdict {
  /** A difference to spec.auth without an obstacle. */
  readonly wrong?: string;
  /** Reason of the condition while a person has to act. */
  readonly hindrance?: string;
}

export function usersVerdict(world: World, cluster: EtcdCluster): UsersVerdict {
  const { metadata, spec } = cluster;
  const store = usersOf(world, cluster);
  if (spec.auth === undefined || store === undefined) return {};
  if (!spec.auth.enabled) return store.enabled ? { wrong: "auth is still enabled" } : {};
  const secret = world.api.find(SECRETS, { namespace: metadata.namespace, name: rootSecretName(metadata.name) });
  if (secret === undefined) return { wrong: "root has no Secret" };
  if (!isOfUse(textIn(secret, "username"), textIn(secret, "password"))) return { hindrance: "RootSecretInvalid" };
  const name = [OPERATOR, ROOT].find((user) => !isAdministrator(store, user));
  if (name !== undefined) return { wrong: `${name} is not an administrator` };
  if (!hasSecretsPassword(world, cluster, store)) return { wrong: "root's password differs from its Secret" };
  return store.enabled ? {} : { wrong: "auth is not enabled" };
}

/** Whether a change of users is pending. */
export function areUsersUnfinished(world: World): boolean {
  return world.api.list(ETCD_CLUSTERS).some((cluster) => usersVerdict(world, cluster).wrong !== undefined);
}
