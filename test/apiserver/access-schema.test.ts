import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { OPERATOR } from "#api/names.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import type { ApiServer } from "#kit/apiserver.ts";
import { startWithKinds } from "#kit/shipped.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Draft, KubeObject, Resource } from "#kube/kinds.ts";

// What people write of roles and users is taken, completed or refused by the API server, before the operator is asked.

const { signal } = new AbortController();
const OPTIONS = { signal };
const namespace = "default";
let server: ApiServer;
let kube: KubeClient;

beforeAll(async () => {
  server = await startWithKinds([ETCD_USERS, ETCD_ROLES]);
  kube = server.client;
});
afterAll(async () => await server?.stop());

let count = 0;

async function made<T extends KubeObject>(of: Resource<T>, spec: unknown, name = `a-${count++}`): Promise<T> {
  const apiVersion = `${of.group}/${of.version}`;
  return await kube.create(of, { apiVersion, kind: of.kind, metadata: { namespace, name }, spec } as never, OPTIONS);
}

async function edited<T extends KubeObject>(of: Resource<T>, before: object, after: object): Promise<string> {
  const { metadata, ...rest } = await made(of, before);
  const draft = { ...rest, metadata, spec: after } as unknown as Draft<T>;
  return await kube.replace(of, draft, OPTIONS).then(() => "it was taken", String);
}

const LEAST = { clusterName: "orders" };
const role = (change: object) => ({ ...LEAST, ...change });
const granting = (permission: object) => role({ permissions: [permission] });

test("a role, and a user, that say nothing but their cluster get every default", async () => {
  const { spec }: EtcdRole = await made(ETCD_ROLES, LEAST);
  expect(spec).toEqual({ clusterName: "orders", permissions: [], takeOver: false });
  const user: EtcdUser = await made(ETCD_USERS, LEAST);
  expect(user.spec).toEqual({ clusterName: "orders", roles: [], authentication: "Password", takeOver: false });
});

describe("is taken:", () => {
  test.each<[string, object]>([
    ["one key", granting({ access: "Read", key: "a" })],
    ["a prefix", granting({ access: "Write", prefix: "orders/" })],
    ["a range", granting({ access: "ReadWrite", range: { from: "a", to: "b" } })],
    ["all keys", granting({ access: "ReadWrite", range: { from: "" } })],
    ["a name of its own", role({ roleName: "Team.orders_v2@prod" })],
  ])("role: %s", async (_, spec) => expect((await made(ETCD_ROLES, spec)).spec).toMatchObject(spec));

  test.each<[string, object]>([
    ["all of it", role({ userName: "u", roles: ["a", "b"], authentication: "Certificate", rotation: { every: "720h" }, keyPrefix: "orders/", takeOver: true })],
    ["the longest name", role({ userName: "a".repeat(64) })],
  ])("user: %s", async (_, spec) => expect((await made(ETCD_USERS, spec)).spec).toMatchObject(spec)); // biome-ignore format: a table
});

describe("is refused, by field, value and what it may be:", () => {
  test.each<[string, unknown, readonly string[]]>([
    ["no cluster", { permissions: [] }, ["spec.clusterName: Required value"]],
    ["no kind of access", granting({ key: "a" }), ["spec.permissions[0].access: Required value"]],
    ["an odd one", granting({ access: "All", key: "a" }), ["spec.permissions[0].access", "Unsupported value"]],
    ["no keys", granting({ access: "Read" }), ["spec.permissions[0]", "there is none of them; exactly one of key, prefix and range must be given"]],
    ["keys twice", granting({ access: "Read", key: "a", prefix: "b" }), ["there are several of them; exactly one of key, prefix and range must be given"]],
    ["an empty prefix, which would mean all keys", granting({ access: "Read", prefix: "" }), ["spec.permissions[0].prefix"]],
    ["a range that ends before it begins", granting({ access: "Read", range: { from: "b", to: "a" } }), ["range.to must come behind range.from"]],
    ["a range that ends before all keys, which etcd takes for all of them", granting({ access: "Read", range: { from: "", to: "\0" } }), ["range.to is the character NUL alone"]],
    ["a range of nothing", granting({ access: "Read", range: { from: "b", to: "b" } }), ["range.to must come behind range.from"]],
    ["etcd's own role", role({ roleName: "root" }), ["spec.roleName", "it is root; it must be another name"]],
    ["a name with a space", role({ roleName: "a b" }), ["spec.roleName", "it is a b; it must be letters, digits"]],
  ])("role: %s", async (_, spec, says) => {
    const refusal = await made(ETCD_ROLES, spec).then(() => "it was taken", String);
    for (const words of says) expect(refusal).toContain(words);
  }); // biome-ignore format: a table

  test.each<[string, unknown, readonly string[]]>([
    ["no cluster", {}, ["spec.clusterName: Required value"]],
    ["root", role({ userName: "root" }), ["spec.userName", "it is root; it must be another name"]],
    ["the operator", role({ userName: OPERATOR }), [`it is ${OPERATOR}; it must be another name: it is the operator's own`]],
    ["the role root", role({ roles: ["root"] }), ["spec.roles[0]", "it is root; it must be another name"]],
    ["a role twice", role({ roles: ["a", "a"] }), ["spec.roles[1]: Duplicate value"]],
    ["an odd way to log in", role({ authentication: "Token" }), ["spec.authentication: Unsupported value"]],
    ["an odd duration", role({ rotation: { every: "30d" } }), ["spec.rotation.every", "it is 30d; it must be a duration from 10m to 17520h"]],
    ["too often", role({ rotation: { every: "1m" } }), ["it is 1m; it must be a duration from 10m to 17520h"]],
    ["a name that no certificate can have", role({ userName: "a".repeat(65) }), ["spec.userName"]],
  ])("user: %s", async (_, spec, says) => {
    const refusal = await made(ETCD_USERS, spec).then(() => "it was taken", String);
    for (const words of says) expect(refusal).toContain(words);
  }); // biome-ignore format: a table

  test("a metadata.name that is reserved in etcd, unless the spec gives another one", async () => {
    await expect(made(ETCD_USERS, LEAST, "root")).rejects.toThrow(
      "metadata.name is root, and there is no spec.userName",
    );
    await expect(made(ETCD_USERS, LEAST, OPERATOR)).rejects.toThrow(`metadata.name is ${OPERATOR}`);
    await expect(made(ETCD_ROLES, LEAST, "root")).rejects.toThrow(
      "metadata.name is root, and there is no spec.roleName",
    );
    expect((await made(ETCD_USERS, role({ userName: "admin" }), "root")).metadata.uid).toBeTruthy();
  });

  test("a name that no label can hold", async () => {
    await expect(made(ETCD_USERS, LEAST, "a".repeat(64))).rejects.toThrow(
      "metadata.name is too long; it may have at most 63",
    );
    await expect(made(ETCD_ROLES, LEAST, "a".repeat(64))).rejects.toThrow(
      "metadata.name is too long; it may have at most 63",
    );
  });
});

test("the example is taken", async () => {
  const objects = parseAllDocuments(readFileSync("examples/users.yaml", "utf8")).map(
    (each) => each.toJS() as KubeObject,
  );
  const kinds = new Map<string, Resource<KubeObject>>([ETCD_ROLES, ETCD_USERS].map((of) => [of.kind, of]));
  const ours = objects.filter(({ kind }) => kinds.has(kind));
  expect(ours).toHaveLength(4);
  for (const { kind, metadata, ...rest } of ours)
    await made(kinds.get(kind)!, (rest as unknown as { spec: object }).spec, metadata.name);
});

describe("an edit", () => {
  const named = role({ userName: "u" });
  test.each<[string, object, object, string]>([
    ["of what a user may do is taken", named, { ...named, roles: ["b"], keyPrefix: "b/" }, "it was taken"],
    ["to another cluster is refused", named, { ...named, clusterName: "other" }, "clusterName is other, and was orders; it must stay so"],
    ["to another name is refused", named, { ...named, userName: "v" }, "userName cannot be changed"],
    ["that takes the name away is refused", named, LEAST, "userName cannot be changed"],
    ["that gives a name is refused", LEAST, named, "userName cannot be changed"],
    ["to another way to log in is refused", named, { ...named, authentication: "Certificate" }, "authentication is Certificate, and was Password; it must stay so"],
  ])("of a user %s", async (_, before, after, says) => {
    expect(await edited(ETCD_USERS, before, after)).toContain(says);
  }); // biome-ignore format: a table

  test.each<[string, object, object, string]>([
    ["of its permissions is taken", LEAST, granting({ access: "Read", key: "a" }), "it was taken"],
    ["to another cluster is refused", LEAST, { clusterName: "other" }, "clusterName is other, and was orders; it must stay so"],
    ["to another name is refused", LEAST, role({ roleName: "v" }), "roleName cannot be changed"],
  ])("of a role %s", async (_, before, after, says) => {
    expect(await edited(ETCD_ROLES, before, after)).toContain(says);
  }); // biome-ignore format: a table
});
