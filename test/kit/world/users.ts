import { OPERATOR, ROOT, rootSecretName } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { textIn } from "#certificates/facts.ts";
import { SECRETS } from "#kube/kinds.ts";
import type { AuthChange } from "./auth.ts";
import { authOf } from "./disk.ts";
import type { PeoplesParts } from "./people.ts";

// What people do about etcd's users: in spec.auth, in root's Secret, and with etcdctl as root.

type Parts = Pick<PeoplesParts, "api" | "etcd" | "random" | "tell">;

/** Values for spec.auth. */
const WISHES: readonly EtcdCluster["spec"]["auth"][] = [
  { enabled: true },
  { enabled: true },
  { enabled: false },
  undefined,
];

/** A person enables or disables authentication, or removes spec.auth. */
export function switchAuth({ api, random, tell }: Parts): boolean {
  const cluster = random.pick(api.list(ETCD_CLUSTERS));
  if (cluster === undefined) return false;
  const auth = WISHES[random.below(WISHES.length)];
  const { auth: before, ...others } = cluster.spec;
  if (auth?.enabled === before?.enabled) return false;
  tell(`a person sets spec.auth of ${cluster.metadata.name} to ${JSON.stringify(auth)}`);
  const spec = auth === undefined ? others : { ...others, auth };
  return api.replace("person", ETCD_CLUSTERS, { ...cluster, spec }) !== cluster;
}

/** A person changes the password in root's Secret, sometimes to an unusable one, or deletes the Secret. */
export function editRootSecret({ api, random, tell }: Parts): boolean {
  const cluster = random.pick(api.list(ETCD_CLUSTERS));
  const name = rootSecretName(cluster?.metadata.name ?? "");
  const secret = api.list(SECRETS).find(({ metadata }) => metadata.name === name);
  if (secret === undefined) return false;
  const password = random.pick(["another password", "yet another password", "", "p".repeat(73), "deleted"]);
  tell(`a person edits Secret ${name}: ${password}`);
  if (password === "deleted") api.delete("person", SECRETS, secret.metadata);
  else api.update("person", SECRETS, secret, { data: { ...secret.data, password: btoa(password ?? "") } });
  return true;
}

/** Changes that a person may make as root with etcdctl; etcd refuses some of them while authentication is enabled. */
const BY_HAND: readonly AuthChange[] = [
  { do: "userDelete", user: OPERATOR },
  { do: "revokeRole", user: OPERATOR, role: ROOT },
  { do: "changePassword", user: ROOT, password: "by hand" },
  { do: "revokeRole", user: ROOT, role: ROOT },
  { do: "userDelete", user: ROOT },
  { do: "userAdd", user: "by-hand", password: "by hand" },
  { do: "enable" },
  { do: "disable" },
];

/** Never on members that require no client certificate: enabling authentication there would lock out every client. */
export function editUsers({ etcd, random, tell }: Parts): boolean {
  const leader = random.pick([...etcd.processes.values()].filter((process) => etcd.leaderOf(process) === process));
  const change = random.pick(BY_HAND);
  if (leader === undefined || change === undefined || !leader.speeches.client.asks) return false;
  try {
    authOf(leader.data).check(change);
  } catch {
    return false; // etcd refuses it
  }
  tell(`a person changes etcd's users: ${JSON.stringify(change)}`);
  return etcd.changeAuth(leader, change, "person");
}

/** Writes a usable password into root's Secret. */
export function putRootSecretRight({ api, tell }: Pick<Parts, "api" | "tell">): void {
  for (const { metadata } of api.list(ETCD_CLUSTERS)) {
    const secret = api.list(SECRETS).find(({ metadata: { name } }) => name === rootSecretName(metadata.name));
    if (secret === undefined || isOfUse(textIn(secret, "username"), textIn(secret, "password"))) continue;
    tell(`a person puts Secret ${secret.metadata.name} right`);
    api.update("person", SECRETS, secret, { data: { username: btoa(ROOT), password: btoa("put right") } });
  }
}

/** Whether root's Secret with these values is usable. */
export function isOfUse(username: string, password: string): boolean {
  return username === ROOT && password !== "" && password.length <= 72;
}
