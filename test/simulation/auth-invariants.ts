import { bindingName, OPERATOR, ROOT, rootSecretName } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { textIn } from "#certificates/facts.ts";
import { hexOf } from "#etcd/types.ts";
import type { World } from "#kit/world.ts";
import type { AuthStore } from "#kit/world-auth.ts";
import { isOfUse } from "#kit/world-users.ts";
import { SECRETS } from "#kube/kinds.ts";
import { asksWhoConnects, isAdministrator, usersOf } from "./auth-memory.ts";
import type { Invariant } from "./memory.ts";

// What do users promise?
//   That nobody is locked out by what the operator does. Excused is what a person does with etcdctl, or to a Secret, between a look and the step
//   that follows it.

/** So long ago may etcd have said what is told: once a minute it is asked, and a look takes its time. In milliseconds. */
const TOLD_MS = 75_000;

/** What is changed of users only where spec.auth says true, and what only where it says false. */
const WANTED: Readonly<Record<string, boolean>> = {
  createRootSecret: true,
  setRootPassword: true,
  addUser: true,
  grantRole: true,
  enableAuth: true,
  disableAuth: false,
};

export const usersAreAsked: Invariant = {
  name: "users are asked for",
  promise: "etcd's users are changed only where spec.auth says so, and only those of the operator and root.",
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

export const askedLast: Invariant = {
  name: "asked for last",
  promise: "etcd is made to ask for users when the operator and root can log in, at every member that runs.",
  breaks(event, world, memory) {
    if (event.is !== "acts" || event.step.do !== "enableAuth" || !("cluster" in event.snapshot)) return undefined;
    const { cluster } = event.snapshot;
    const store = usersOf(world, cluster);
    if (store === undefined || memory.auth.isEditedSince(cluster, event.lookedFrom)) return undefined;
    const name = [OPERATOR, ROOT].find((user) => !isAdministrator(store, user));
    if (name !== undefined) return `${name} is no administrator`;
    if (!isSecretRoots(world, cluster, store)) return "root has another password than its Secret says";
    return whoDoesNotAsk(world, cluster);
  },
};

export const nobodyLockedOut: Invariant = {
  name: "nobody is locked out",
  promise: "While etcd asks for users every member knows who connects, and the operator stays an administrator.",
  breaks(event, world, memory) {
    if (event.is !== "step") return undefined;
    for (const cluster of world.api.list(ETCD_CLUSTERS)) {
      if (cluster.spec.auth === undefined && cluster.status?.auth === undefined) continue;
      const store = usersOf(world, cluster);
      if (store?.enabled !== true) continue;
      if (!isAdministrator(store, OPERATOR) && !memory.auth.isOutOfOrder(cluster, "administrator"))
        return "the operator is no administrator";
      const silent = memory.auth.isOutOfOrder(cluster, "asking") ? undefined : whoDoesNotAsk(world, cluster);
      if (silent !== undefined) return silent;
    }
    return undefined;
  },
};

export const toldAsItIs: Invariant = {
  name: "users are told as it is",
  promise: "Whether etcd asks for users is on record as etcd has said it, and never before.",
  breaks(event, world, memory) {
    if (event.is !== "clusterStatus" || event.snapshot.auth?.state.is !== "present") return undefined;
    const { status, snapshot, lookedFrom } = event;
    if (status.auth === undefined) return undefined;
    const since = { step: lookedFrom - 1, ms: world.time.nowMs - TOLD_MS };
    if (memory.auth.wasSo(snapshot.cluster, status.auth.enabled, since)) return undefined;
    return `status.auth.enabled is ${status.auth.enabled}`;
  },
};

/** How the names of Secrets with passwords end. */
const HOLDERS = [rootSecretName(""), bindingName("")];

export const passwordsStay: Invariant = {
  name: "passwords stay in Secrets",
  promise: "No password is written anywhere but to a Secret.",
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

function isSecretRoots({ api }: World, { metadata }: EtcdCluster, { users }: AuthStore): boolean {
  const secret = api.find(SECRETS, { namespace: metadata.namespace, name: rootSecretName(metadata.name) });
  return secret !== undefined && users.get(ROOT)?.password === textIn(secret, "password");
}

function whoDoesNotAsk(world: World, { metadata, status }: EtcdCluster): string | undefined {
  const silent = [...world.etcd.processes.values()].find(
    (process) =>
      process.clusterUid === metadata.uid &&
      hexOf(process.data.clusterId) === status?.identity?.clusterID &&
      !asksWhoConnects(process),
  );
  return silent && `${silent.peer} asks nobody for a certificate`;
}

/** How users are, by what etcd and the Secret of root say. */
export interface UsersVerdict {
  /** What is not as spec.auth says, though nothing is in the way. */
  readonly wrong?: string;
  /** What the condition says while a person has to do something. */
  readonly hindrance?: string;
}

export function usersVerdict(world: World, cluster: EtcdCluster): UsersVerdict {
  const { metadata, spec } = cluster;
  const store = usersOf(world, cluster);
  if (spec.auth === undefined || store === undefined) return {};
  if (!spec.auth.enabled) return store.enabled ? { wrong: "etcd asks for users still" } : {};
  const secret = world.api.find(SECRETS, { namespace: metadata.namespace, name: rootSecretName(metadata.name) });
  if (secret === undefined) return { wrong: "root has no Secret" };
  if (!isOfUse(textIn(secret, "username"), textIn(secret, "password"))) return { hindrance: "RootSecretInvalid" };
  const name = [OPERATOR, ROOT].find((user) => !isAdministrator(store, user));
  if (name !== undefined) return { wrong: `${name} is no administrator` };
  if (!isSecretRoots(world, cluster, store)) return { wrong: "root has another password than its Secret says" };
  return store.enabled ? {} : { wrong: "etcd asks for no users" };
}

/** Something is yet to be done about users. */
export function areUsersUnfinished(world: World): boolean {
  return world.api.list(ETCD_CLUSTERS).some((cluster) => usersVerdict(world, cluster).wrong !== undefined);
}
