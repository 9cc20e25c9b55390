import { bindingName, ROTATE_CREDENTIALS_ANNOTATION } from "#api/names.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { roleSpecSchema } from "#api/v1beta1/role-schema.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { userSpecSchema } from "#api/v1beta1/user-schema.ts";
import { oneKey } from "#etcd/auth.ts";
import { apiVersionOf, SECRETS } from "#kube/kinds.ts";
import type { AuthChange } from "./auth.ts";
import { authOf } from "./disk.ts";
import type { PeoplesParts } from "./people.ts";

// What people do about users and roles in etcd: with EtcdRoles and EtcdUsers, with Secrets of applications, and as root
// with etcdctl.

type Parts = Pick<PeoplesParts, "api" | "etcd" | "random" | "tell">;

const NAMESPACE = "foo";
/** Mostly the name of the cluster that exists. */
const CLUSTERS = ["db", "db", "db", "db", "db-client"] as const;

/** Names of objects and their names in etcd. Object `three` has the name of object `one` in etcd. */
const NAMES: Readonly<Record<string, string | undefined>> = { one: undefined, two: undefined, three: "one" };

const PERMISSIONS = [
  [],
  [{ access: "Read", prefix: "orders/" }],
  [
    { access: "ReadWrite", prefix: "orders/" },
    { access: "Write", key: "last" },
  ],
  [{ access: "Read", range: { from: "a", to: "m" } }],
] as const;

const ROLES = [[], ["one"], ["one", "two"], ["two", "theirs"], ["nobody-has-made-it"]] as const;
const ROTATIONS = [undefined, undefined, { every: "1h" }, { every: "720h" }] as const;

/** A person creates, changes or deletes an EtcdRole or EtcdUser, or asks for new credentials. */
export function putAccess(parts: Parts): boolean {
  return parts.random.chance(0.5) ? putRole(parts) : putUser(parts);
}

function putRole({ api, random, tell }: Parts): boolean {
  const name = random.pick(Object.keys(NAMES)) ?? "";
  const before = api.find(ETCD_ROLES, { namespace: NAMESPACE, name });
  if (before !== undefined && random.chance(0.35)) return remove({ api, tell }, ETCD_ROLES, before);
  const permissions = random.pick(PERMISSIONS) ?? [];
  const takeOver = random.chance(0.2);
  const { clusterRef = { name: random.pick(CLUSTERS) }, roleName = NAMES[name] } = before?.spec ?? {};
  const spec = roleSpecSchema.parse({ clusterRef, roleName, permissions, takeOver });
  tell(`a person sets the spec of EtcdRole ${name} to ${JSON.stringify(spec)}`);
  if (before === undefined) api.create<EtcdRole>("person", ETCD_ROLES, { ...headOf(ETCD_ROLES, name), spec });
  else api.replace("person", ETCD_ROLES, { ...before, spec });
  return true;
}

function putUser({ api, random, tell }: Parts): boolean {
  const name = random.pick(Object.keys(NAMES)) ?? "";
  const before = api.find(ETCD_USERS, { namespace: NAMESPACE, name });
  if (before !== undefined && random.chance(0.3)) return remove({ api, tell }, ETCD_USERS, before);
  if (before !== undefined && random.chance(0.3)) {
    tell(`a person asks for new credentials of EtcdUser ${name}`);
    const asked = { [ROTATE_CREDENTIALS_ANNOTATION]: String(api.version) };
    api.patch("person", ETCD_USERS, before.metadata, { metadata: { annotations: asked } }, {});
    return true;
  }
  const { clusterRef = { name: random.pick(CLUSTERS) }, userName = NAMES[name] } = before?.spec ?? {};
  const authentication = before?.spec.authentication ?? { type: random.chance(0.8) ? "Password" : "Certificate" };
  const asked = { roles: random.pick(ROLES), rotation: random.pick(ROTATIONS), takeOver: random.chance(0.2) };
  const spec = userSpecSchema.parse({ clusterRef, userName, authentication, ...asked });
  tell(`a person sets the spec of EtcdUser ${name} to ${JSON.stringify(spec)}`);
  if (before === undefined) api.create<EtcdUser>("person", ETCD_USERS, { ...headOf(ETCD_USERS, name), spec });
  else api.replace("person", ETCD_USERS, { ...before, spec });
  return true;
}

type Kind = typeof ETCD_ROLES | typeof ETCD_USERS;

function remove({ api, tell }: Pick<Parts, "api" | "tell">, kind: Kind, { metadata }: EtcdRole | EtcdUser): boolean {
  tell(`a person deletes ${kind.kind} ${metadata.name}`);
  api.delete("person", kind, metadata);
  return true;
}

function headOf<K extends Kind>(kind: K, name: string) {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { namespace: NAMESPACE, name } };
}

/** How people spoil keys of a binding; an undefined key is removed. */
const SPOILT: readonly Readonly<Record<string, string | undefined>>[] = [
  { password: "a-persons-own-password" },
  { password: undefined },
  { password: "w".repeat(73) },
  { username: "somebody-else" },
  { "tls.crt": undefined },
  { "tls.key": "no key at all" },
];

/**
 * A person changes the password in an application's Secret, removes a key from it, or deletes it. If the Secret does
 * not exist, a person may create one with its name.
 */
export function editBinding({ api, random, tell }: Parts): boolean {
  const name = bindingName(random.pick(Object.keys(NAMES)) ?? "");
  const secret = api.find(SECRETS, { namespace: NAMESPACE, name });
  if (secret === undefined) {
    if (!random.chance(0.2)) return false;
    tell(`a person makes a Secret ${name} of their own`);
    const metadata = { namespace: NAMESPACE, name };
    api.create("person", SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      data: { password: btoa("a-secret-of-a-person") },
    });
    return true;
  }
  if (random.chance(0.4)) {
    tell(`a person deletes Secret ${name}`);
    api.delete("person", SECRETS, secret.metadata);
    return true;
  }
  const spoilt = random.pick(SPOILT) ?? {};
  tell(`a person writes ${Object.keys(spoilt).join()} of Secret ${name}`);
  const data = Object.entries({ ...secret.data, ...mapped(spoilt) }).filter((each) => each[1] !== undefined);
  api.update("person", SECRETS, secret, { data: Object.fromEntries(data) as Record<string, string> });
  return true;
}

function mapped(texts: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, text && btoa(text)]));
}

const WIDE = { access: "READWRITE", ...oneKey("everything") } as const;
/** Changes that a person may make to any user or role, as root with etcdctl. */
const BY_HAND: readonly AuthChange[] = ["one", "two", "theirs"].flatMap((name): readonly AuthChange[] => [
  { do: "userAdd", user: name, password: "by-a-persons-hand" },
  { do: "userAdd", user: name, password: undefined },
  { do: "userDelete", user: name },
  { do: "changePassword", user: name, password: "by-a-persons-hand" },
  { do: "grantRole", user: name, role: "theirs" },
  { do: "grantRole", user: name, role: "root" },
  { do: "revokeRole", user: name, role: "one" },
  { do: "roleAdd", role: name },
  { do: "roleDelete", role: name },
  { do: "grantPermission", role: name, permission: WIDE },
]);

export function editAccessByHand({ etcd, random, tell }: Parts): boolean {
  const leader = random.pick([...etcd.processes.values()].filter((process) => etcd.leaderOf(process) === process));
  const store = leader && authOf(leader.data);
  // Only changes that etcd accepts.
  const change = random.pick(BY_HAND.filter((each) => store !== undefined && isTaken(each, store)));
  if (leader === undefined || change === undefined) return false;
  tell(`a person changes etcd's users: ${JSON.stringify({ ...change, permission: undefined })}`);
  return etcd.changeAuth(leader, change, "person");
}

function isTaken(change: AuthChange, store: ReturnType<typeof authOf>): boolean {
  try {
    store.check(change);
    return true;
  } catch {
    return false;
  }
}
