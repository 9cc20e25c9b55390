import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { OPERATOR } from "#api/names.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { serveKinds } from "#kit/servers/shipped.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Draft, KubeObject, Resource } from "#kube/kinds.ts";

// The API server accepts, completes or refuses the specs of roles and users before the operator sees them.

const { signal } = new AbortController();
const OPTIONS = { signal };
const namespace = "default";
let kube: KubeClient;

serveKinds([ETCD_USERS, ETCD_ROLES], ({ client }) => {
  kube = client;
});

let count = 0;

async function made<T extends KubeObject>(of: Resource<T>, spec: unknown, name = `a-${count++}`): Promise<T> {
  const apiVersion = `${of.group}/${of.version}`;
  return await kube.create(of, { apiVersion, kind: of.kind, metadata: { namespace, name }, spec } as never, OPTIONS);
}

async function edited<T extends KubeObject>(of: Resource<T>, before: object, after: object): Promise<string> {
  const { metadata, ...rest } = await made(of, before);
  const draft = { ...rest, metadata, spec: after } as unknown as Draft<T>;
  return await kube.replace(of, draft, OPTIONS).then(() => "it was accepted", String);
}

const LEAST = { clusterRef: { name: "orders" } };
const ELSEWHERE = { clusterRef: { name: "other" } };
const role = (change: object) => ({ ...LEAST, ...change });
const granting = (permission: object) => role({ permissions: [permission] });

test("a role and a user with only a cluster get every default", async () => {
  const { spec }: EtcdRole = await made(ETCD_ROLES, LEAST);
  expect(spec).toEqual({ clusterRef: { name: "orders" }, permissions: [], takeOver: false });
  const user: EtcdUser = await made(ETCD_USERS, LEAST);
  expect(user.spec).toEqual({
    clusterRef: { name: "orders" },
    roles: [],
    authentication: { type: "Password" },
    takeOver: false,
  });
});

describe("is accepted:", () => {
  test.each<[string, object]>([
    ["one key", granting({ access: "Read", key: "a" })],
    ["a prefix", granting({ access: "Write", prefix: "orders/" })],
    ["a range", granting({ access: "ReadWrite", range: { from: "a", to: "b" } })],
    ["all keys", granting({ access: "ReadWrite", range: { from: "" } })],
    ["a role name", role({ roleName: "Team.orders_v2@prod" })],
  ])("role: %s", async (_, spec) => expect((await made(ETCD_ROLES, spec)).spec).toMatchObject(spec));

  test.each<[string, object]>([
    ["every field", role({ userName: "u", roles: ["a", "b"], authentication: { type: "Certificate" }, rotation: { every: "720h" }, keyPrefix: "orders/", takeOver: true, bindingSecret: { metadata: { labels: { team: "a" }, annotations: { copy: "b" } } } })],
    ["the longest name", role({ userName: "a".repeat(64) })],
  ])("user: %s", async (_, spec) => expect((await made(ETCD_USERS, spec)).spec).toMatchObject(spec)); // biome-ignore format: a table
});

describe("is refused with the field, the value and what is allowed:", () => {
  test.each<[string, unknown, readonly string[]]>([
    ["no cluster", { permissions: [] }, ["spec.clusterRef: Required value"]],
    ["a cluster without a name", { clusterRef: {} }, ["spec.clusterRef.name: Required value"]],
    ["an empty name of a cluster", { clusterRef: { name: "" } }, ["spec.clusterRef.name", "should be at least 1 chars long"]],
    ["a name of a cluster that is too long", { clusterRef: { name: "a".repeat(53) } }, ["spec.clusterRef.name: Too long"]],
    ["no access type", granting({ key: "a" }), ["spec.permissions[0].access: Required value"]],
    ["an invalid access type", granting({ access: "All", key: "a" }), ["spec.permissions[0].access", "Unsupported value"]],
    ["no keys", granting({ access: "Read" }), ["spec.permissions[0]", "there is none of them; exactly one of key, prefix and range must be given"]],
    ["keys twice", granting({ access: "Read", key: "a", prefix: "b" }), ["there are several of them; exactly one of key, prefix and range must be given"]],
    ["an empty prefix, which would mean all keys", granting({ access: "Read", prefix: "" }), ["spec.permissions[0].prefix"]],
    ["a range that ends before it begins", granting({ access: "Read", range: { from: "b", to: "a" } }), ["range.to must come after range.from"]],
    ["a range up to the character NUL, which etcd treats as unbounded", granting({ access: "Read", range: { from: "", to: "\0" } }), ["range.to is the character NUL alone"]],
    ["an empty range", granting({ access: "Read", range: { from: "b", to: "b" } }), ["range.to must come after range.from"]],
    ["etcd's own role", role({ roleName: "root" }), ["spec.roleName", "it is root; it must be another name"]],
    ["a name with a space", role({ roleName: "a b" }), ["spec.roleName", "it is a b; it must be letters, digits"]],
  ])("role: %s", async (_, spec, says) => {
    const refusal = await made(ETCD_ROLES, spec).then(() => "it was accepted", String);
    for (const words of says) expect(refusal).toContain(words);
  }); // biome-ignore format: a table

  test.each<[string, unknown, readonly string[]]>([
    ["no cluster", {}, ["spec.clusterRef: Required value"]],
    ["the user root", role({ userName: "root" }), ["spec.userName", "it is root; it must be another name"]],
    ["the operator's user", role({ userName: OPERATOR }), [`it is ${OPERATOR}; it must be another name: it is the operator's own`]],
    ["the role root", role({ roles: ["root"] }), ["spec.roles[0]", "it is root; it must be another name"]],
    ["a role twice", role({ roles: ["a", "a"] }), ["spec.roles[1]: Duplicate value"]],
    ["an invalid authentication", role({ authentication: { type: "Token" } }), ["spec.authentication.type: Unsupported value"]],
    ["an authentication without type", role({ authentication: {} }), ["spec.authentication.type: Required value"]],
    ["an invalid duration", role({ rotation: { every: "30d" } }), ["spec.rotation.every", "it is 30d; it must be a duration from 10m to 17520h"]],
    ["a duration with a fraction", role({ rotation: { every: "1.5h" } }), ["it is 1.5h; it must be a duration from 10m to 17520h in whole numbers, such as 1m30s"]],
    ["a rotation that is too frequent", role({ rotation: { every: "1m" } }), ["it is 1m; it must be a duration from 10m to 17520h"]],
    ["a label of the operator on the binding", role({ bindingSecret: { metadata: { labels: { "etcd.improbable.io/user-name": "b" } } } }), ["spec.bindingSecret.metadata.labels", "etcd.improbable.io/user-name is one of the labels that the operator sets"]],
    ["an annotation with an invalid key on the binding", role({ bindingSecret: { metadata: { annotations: { "a b": "" } } } }), ["spec.bindingSecret.metadata.annotations", "the key a b is invalid"]],
    ["a name that is too long for a certificate", role({ userName: "a".repeat(65) }), ["spec.userName"]],
  ])("user: %s", async (_, spec, says) => {
    const refusal = await made(ETCD_USERS, spec).then(() => "it was accepted", String);
    for (const words of says) expect(refusal).toContain(words);
  }); // biome-ignore format: a table

  test("a role or user with a metadata.name that etcd reserves, unless the spec has a different name", async () => {
    await expect(made(ETCD_USERS, LEAST, "root")).rejects.toThrow(
      "metadata.name is root, and there is no spec.userName",
    );
    await expect(made(ETCD_USERS, LEAST, OPERATOR)).rejects.toThrow(`metadata.name is ${OPERATOR}`);
    await expect(made(ETCD_ROLES, LEAST, "root")).rejects.toThrow(
      "metadata.name is root, and there is no spec.roleName",
    );
    expect((await made(ETCD_USERS, role({ userName: "admin" }), "root")).metadata.uid).toBeTruthy();
  });

  test("a role or user with a name that is too long for a label", async () => {
    await expect(made(ETCD_USERS, LEAST, "a".repeat(64))).rejects.toThrow(
      "metadata.name is too long; it may have at most 63",
    );
    await expect(made(ETCD_ROLES, LEAST, "a".repeat(64))).rejects.toThrow(
      "metadata.name is too long; it may have at most 63",
    );
  });
});

test("the example is accepted", async () => {
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
    ["of its roles is accepted", named, { ...named, roles: ["b"], keyPrefix: "b/" }, "it was accepted"],
    ["to another cluster is refused", named, { ...named, ...ELSEWHERE }, `spec.clusterRef.name: Invalid value: "other": it is other, and was orders; it must stay so`],
    ["to another name is refused", named, { ...named, userName: "v" }, "userName cannot be changed"],
    ["that takes the name away is refused", named, LEAST, "userName cannot be changed"],
    ["that gives a name is refused", LEAST, named, "userName cannot be changed"],
    ["to a different authentication is refused", named, { ...named, authentication: { type: "Certificate" } }, "authentication.type is Certificate, and was Password; it must stay so"],
  ])("of a user %s", async (_, before, after, says) => {
    expect(await edited(ETCD_USERS, before, after)).toContain(says);
  }); // biome-ignore format: a table

  test.each<[string, object, object, string]>([
    ["of its permissions is accepted", LEAST, granting({ access: "Read", key: "a" }), "it was accepted"],
    ["to another cluster is refused", LEAST, ELSEWHERE, "it is other, and was orders; it must stay so"],
    ["to another name is refused", LEAST, role({ roleName: "v" }), "roleName cannot be changed"],
  ])("of a role %s", async (_, before, after, says) => {
    expect(await edited(ETCD_ROLES, before, after)).toContain(says);
  }); // biome-ignore format: a table
});
