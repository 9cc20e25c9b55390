import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { bindingLabels, clusterLabels, USER_FINALIZER } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { definitionOf } from "#kit/servers/foreign-kind.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { etcdOf, etcdRole, etcdUser } from "#kit/snapshots/access.ts";
import type { KubeClient } from "#kube/client.ts";
import { CERTIFICATES, ownerReference, type Resource, SECRETS } from "#kube/kinds.ts";
import { patchFinalizers } from "#runtime/writes.ts";
import { bindingRequest } from "#user/desired/request.ts";

// What the operator's account may do for roles and users, according to a real API server with the shipped manifests.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "foo";
let server: ApiServer;
let admin: KubeClient;
let operator: KubeClient;

beforeAll(async () => {
  const kinds = [ETCD_CLUSTERS, ETCD_ROLES, ETCD_USERS, CERTIFICATES];
  const foreign = [definitionOf(CERTIFICATES)];
  ({ server, admin, operator } = await startShipped({ namespace, kinds, foreign }));
  // A policy applies a moment after its creation.
  const probe = () => operator.create(SECRETS, secret({}, "probe"), OPTIONS);
  await vi.waitFor(() => expect(probe()).rejects.toThrow("of Secrets the operator writes only"), { timeout: 60_000 });
}, 120_000);
afterAll(async () => await server?.stop());

const user = etcdUser();
const OWNER = ownerReference(ETCD_USERS, user);

function secret(change: object = {}, name = "app-binding", metadata: object = {}) {
  const its = { namespace, name, labels: bindingLabels("app"), ownerReferences: [OWNER], ...metadata };
  return { apiVersion: "v1", kind: "Secret", metadata: its, type: "servicebinding.io/etcd", data: {}, ...change };
}

/** Number of Secrets so far: each belongs to a new EtcdUser. */
let count = 0;
function mine(change: object = {}, suffix = "-binding", metadata: object = {}) {
  const name = `case-${count++}`;
  const its = { labels: bindingLabels(name), ownerReferences: [{ ...OWNER, name }] };
  return secret(change, `${name}${suffix}`, { ...its, ...metadata });
}

describe("a binding Secret", () => {
  test("of an EtcdUser may be created, read and written by name, and neither listed nor deleted", async () => {
    const made = await operator.create(SECRETS, mine(), OPTIONS);
    await operator.replace(SECRETS, { ...made, data: { password: "YQ==" } }, OPTIONS);
    await operator.get(SECRETS, made.metadata, OPTIONS);
    await expect(operator.list(SECRETS, { namespace }, OPTIONS)).rejects.toMatchObject({ code: "KubeForbidden" });
    const gone = operator.delete(SECRETS, made.metadata, { ...OPTIONS, preconditions: { uid: made.metadata.uid } });
    await expect(gone).rejects.toMatchObject({ code: "KubeForbidden" });
  });

  test.each<[string, ReturnType<typeof secret>, string]>([
    ["with a different type", mine({ type: "Opaque" }), "the operator makes Secrets of the type"],
    ["with the type of a cluster's Secret", mine({ type: "kubernetes.io/tls", data: { "tls.crt": "", "tls.key": "" } }), "the operator makes Secrets of the type"],
    ["with a different name", mine({}, "-other"), "of Secrets the operator writes only"],
    ["without an owner", mine({}, "-binding", { ownerReferences: [] }), "of Secrets the operator writes only"],
    ["of another EtcdUser", mine({}, "-binding", { ownerReferences: [{ ...OWNER, name: "other" }] }), "of Secrets the operator writes only"],
    ["of another kind", mine({}, "-binding", { ownerReferences: [{ ...OWNER, kind: "EtcdCluster" }] }), "of Secrets the operator writes only"],
    ["of a foreign group's kind", mine({}, "-binding", { ownerReferences: [{ ...OWNER, apiVersion: "example.com/v1" }] }), "of Secrets the operator writes only"],
    ["without its label", mine({}, "-binding", { labels: clusterLabels("app") }), "of Secrets the operator writes only"],
  ])("%s may not be created", async (_, draft, says) => {
    await expect(operator.create(SECRETS, draft, OPTIONS)).rejects.toThrow(says);
  }); // biome-ignore format: a table

  test("without an owner may not be taken over", async () => {
    const draft = mine();
    const theirs = await admin.create(
      SECRETS,
      { ...draft, metadata: { ...draft.metadata, ownerReferences: [] } },
      OPTIONS,
    );
    const taken = { ...theirs, metadata: { ...theirs.metadata, ownerReferences: draft.metadata.ownerReferences } };
    await expect(operator.replace(SECRETS, taken as never, OPTIONS)).rejects.toThrow(
      "of Secrets the operator writes only",
    );
  });
});

test("the operator may request the certificate of a binding into its own Secret, and no CA", async () => {
  const draft = bindingRequest(user, etcdOf());
  await operator.create(CERTIFICATES, draft, OPTIONS);
  const refused = (change: object) =>
    operator.create(
      CERTIFICATES,
      {
        ...draft,
        metadata: {
          ...draft.metadata,
          name: "b-binding-tls",
          labels: bindingLabels("b"),
          ownerReferences: [{ ...OWNER, name: "b" }],
        },
        ...change,
      },
      OPTIONS,
    );
  const says =
    "asks cert-manager only for certificates of an EtcdCluster, with names that end in eight digits, or of an EtcdUser";
  await expect(refused({})).rejects.toThrow(says);
  await expect(refused({ spec: { ...draft.spec, secretName: "b-binding-tls", isCA: true } })).rejects.toThrow(says);
});

type Kind = Resource<EtcdRole>;

describe.each<[string, Kind, () => EtcdRole]>([
  ["an EtcdRole", ETCD_ROLES, () => etcdRole({ name: "r" })],
  ["an EtcdUser", ETCD_USERS as unknown as Kind, () => etcdUser({ name: "u" }) as unknown as EtcdRole],
])("%s", (_, of, draft) => {
  test("may get finalizers and a status from the operator, which may not otherwise change, create or delete it", async () => {
    const { metadata, status: __, ...wanted } = draft();
    const ref = { namespace, name: metadata.name };
    const made = await admin.create(of, { ...wanted, metadata: ref }, OPTIONS);
    await patchFinalizers(operator, of, made, [USER_FINALIZER], OPTIONS.signal);
    const { uid, resourceVersion } = (await admin.get(of, ref, OPTIONS)).metadata;
    const options = { ...OPTIONS, type: "merge" as const, preconditions: { uid, resourceVersion } };
    const changes = [
      { spec: { takeOver: true } },
      { metadata: { labels: { a: "b" } } },
      { metadata: { annotations: { a: "b" } } },
    ];
    for (const change of changes)
      await expect(operator.patch(of, ref, change, options)).rejects.toThrow(
        "the operator changes only its finalizers",
      );
    const live = await admin.get(of, ref, OPTIONS);
    await operator.replace(of, { ...live, status: { observedGeneration: 1 } }, { ...OPTIONS, subresource: "status" });
    const refused = { code: "KubeForbidden" };
    const another = { ...wanted, metadata: { namespace, name: "x" } };
    await expect(operator.create(of, another, OPTIONS)).rejects.toMatchObject(refused);
    const gone = operator.delete(of, ref, { ...OPTIONS, preconditions: { uid } });
    await expect(gone).rejects.toMatchObject(refused);
  });
});
