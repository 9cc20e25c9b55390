import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { hasCode } from "#base/error.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { oracleFor } from "#kit/servers/kube-oracle.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, NODES } from "#kit/tables/kinds.ts";
import { FIELD_MANAGER, type KubeClient } from "#kube/client.ts";
import {
  type Draft,
  EVENTS,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  REPLICA_SETS,
  resource,
  SECRETS,
  SERVICES,
  type Secret,
  type Service,
} from "#kube/kinds.ts";

let server: ApiServer;
let kube: KubeClient;
const { signal } = new AbortController();
const OPTIONS = { signal };
const namespace = "default";

beforeAll(async () => {
  server = await startApiServer();
  kube = server.client;
});
afterAll(async () => await server?.stop());

function secret(name: string, data: Record<string, string> = {}): Draft<Secret> {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, stringData: data };
}

function service(name: string, port: number): Draft<Service> {
  const spec = { selector: { app: name }, ports: [{ name: "client", port }] };
  return { apiVersion: "v1", kind: "Service", metadata: { name, namespace }, spec };
}

describe("objects", () => {
  test("are created once, read and found", async () => {
    const made = await kube.create(SECRETS, secret("made-once", { a: "1" }), OPTIONS);
    expect(made.metadata.uid).not.toBe("");
    const read = await kube.get(SECRETS, { namespace, name: "made-once" }, OPTIONS);
    expect(read).toEqual(made);
    expect(await kube.find(SECRETS, { namespace, name: "made-once" }, OPTIONS)).toEqual({ is: "present", value: made });
    await expect(kube.create(SECRETS, secret("made-once"), OPTIONS)).rejects.toMatchObject({
      code: "KubeAlreadyExists",
      message: expect.stringMatching(/^create secrets default\/made-once: .*already exists.*409/),
    });
  });

  test("are validated by a dry run without being created", async () => {
    const tried = await kube.create(SECRETS, secret("tried-out", { a: "1" }), { ...OPTIONS, dryRun: true });
    expect(tried.data).toEqual({ a: "MQ==" });
    expect(await kube.find(SECRETS, { namespace, name: "tried-out" }, OPTIONS)).toEqual({ is: "absent" });
  });

  test("that do not exist are reported differently from a kind that is not served", async () => {
    const ref = { namespace, name: "missing" };
    await expect(kube.get(SECRETS, ref, OPTIONS)).rejects.toMatchObject({ code: "KubeNotFound" });
    expect(await kube.find(SECRETS, ref, OPTIONS)).toEqual({ is: "absent" });
    const unserved = resource<KubeObject>({
      group: "example.com",
      version: "v1",
      kind: "X",
      plural: "xs",
      namespaced: true,
    });
    expect(await kube.find(unserved, ref, OPTIONS)).toMatchObject({ is: "unknown" });
  });

  test("are listed over several pages, and each has kind and apiVersion", async () => {
    for (let n = 0; n < 7; n++) await kube.create(SECRETS, secret(`page-${n}`), OPTIONS);
    const all = await kube.list(SECRETS, { namespace, limit: 3 }, OPTIONS);
    const names = all.items.map((item) => item.metadata.name);
    expect(names.filter((name) => name.startsWith("page-"))).toHaveLength(7);
    expect(all.items.every((item) => item.kind === "Secret" && item.apiVersion === "v1")).toBe(true);
    expect(BigInt(all.resourceVersion)).toBeGreaterThan(0n);
    const one = await kube.list(SECRETS, { namespace, fieldSelector: "metadata.name=page-3" }, OPTIONS);
    expect(one.items.map((item) => item.metadata.name)).toEqual(["page-3"]);
  });

  test("of every kind that the operator uses can be listed", async () => {
    const kinds = [PODS, SERVICES, PERSISTENT_VOLUME_CLAIMS, REPLICA_SETS, POD_DISRUPTION_BUDGETS, EVENTS, NODES];
    for (const kind of [...kinds, NAMESPACES, CUSTOM_RESOURCE_DEFINITIONS]) {
      expect((await kube.list<KubeObject>(kind, {}, OPTIONS)).resourceVersion).toMatch(/^\d+$/);
    }
  });
});

describe("preconditions", () => {
  test("a delete with another uid is a conflict and deletes nothing", async () => {
    const { metadata } = await kube.create(SECRETS, secret("kept"), OPTIONS);
    const other = { ...OPTIONS, preconditions: { uid: "00000000-0000-0000-0000-000000000000" } };
    await expect(kube.delete(SECRETS, metadata, other)).rejects.toMatchObject({ code: "KubeConflict" });
    await kube.delete(SECRETS, metadata, { ...OPTIONS, preconditions: { uid: metadata.uid } });
    expect(await kube.find(SECRETS, metadata, OPTIONS)).toEqual({ is: "absent" });
    const again = kube.delete(SECRETS, metadata, { ...OPTIONS, preconditions: { uid: metadata.uid } });
    await expect(again).rejects.toMatchObject({ code: "KubeNotFound" });
  });

  test("a delete with an old resourceVersion is a conflict", async () => {
    const made = await kube.create(SECRETS, secret("changed"), OPTIONS);
    await kube.patch(SECRETS, made.metadata, { metadata: { labels: { a: "b" } } }, { ...OPTIONS, type: "merge" });
    const { uid, resourceVersion } = made.metadata;
    const stale = kube.delete(SECRETS, made.metadata, { ...OPTIONS, preconditions: { uid, resourceVersion } });
    await expect(stale).rejects.toMatchObject({ code: "KubeConflict" });
  });

  test("replacing an object that changed since is a conflict", async () => {
    const made = await kube.create(SECRETS, secret("replaced"), OPTIONS);
    const second = await kube.replace(SECRETS, { ...made, data: { a: "Mg==" } }, OPTIONS);
    expect(second.data).toEqual({ a: "Mg==" });
    await expect(kube.replace(SECRETS, { ...made, data: { a: "Mw==" } }, OPTIONS)).rejects.toMatchObject({
      code: "KubeConflict",
    });
  });

  for (const type of ["merge", "json"] as const) {
    test(`a ${type} patch of another uid or an old resourceVersion is a conflict`, async () => {
      const made = await kube.create(SECRETS, secret(`patched-${type}`), OPTIONS);
      const labels = (value: string) =>
        type === "merge"
          ? { metadata: { labels: { l: value } } }
          : [{ op: "add" as const, path: "/metadata/labels", value: { l: value } }];
      const { uid, resourceVersion } = made.metadata;
      const good = { ...OPTIONS, type, preconditions: { uid, resourceVersion } };
      const patched = await kube.patch(SECRETS, made.metadata, labels("1"), good);
      expect(patched.metadata.labels).toEqual({ l: "1" });
      const stale = kube.patch(SECRETS, made.metadata, labels("2"), good);
      await expect(stale).rejects.toMatchObject({ code: "KubeConflict" });
      const otherUid = { ...OPTIONS, type, preconditions: { uid: "00000000-0000-0000-0000-000000000000" } };
      const other = kube.patch(SECRETS, made.metadata, labels("3"), otherUid);
      await expect(other).rejects.toMatchObject({ code: "KubeConflict" });
      expect((await kube.get(SECRETS, made.metadata, OPTIONS)).metadata.labels).toEqual({ l: "1" });
    });
  }
});

describe("server-side apply", () => {
  test("sets, changes and removes fields, and writes nothing when nothing differs", async () => {
    const first = await kube.apply(SERVICES, service("applied", 1), { ...OPTIONS, force: false });
    const same = await kube.apply(SERVICES, service("applied", 1), { ...OPTIONS, force: false });
    expect(same.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    const changed = await kube.apply(SERVICES, service("applied", 2), { ...OPTIONS, force: false });
    expect(changed.spec?.ports?.map((port) => port.port)).toEqual([2]);
  });

  test("conflicts with another field manager unless forced", async () => {
    const oracle = oracleFor(server.kubeconfig);
    await oracle.applyService(service("contested", 1), "somebody-else");
    const mine = kube.apply(
      SERVICES,
      { ...service("contested", 1), spec: { selector: { app: "mine" } } },
      { ...OPTIONS, force: false },
    );
    await expect(mine).rejects.toMatchObject({
      code: "KubeConflict",
      message: expect.stringContaining("somebody-else"),
    });
    const forced = await kube.apply(
      SERVICES,
      { ...service("contested", 1), spec: { selector: { app: "mine" } } },
      { ...OPTIONS, force: true },
    );
    expect(forced.spec?.selector).toEqual({ app: "mine" });
  });

  test("with a uid changes only the object with this uid, and creates none", async () => {
    const draft = service("by-uid", 1);
    const withUid = { ...draft, metadata: { ...draft.metadata, uid: "00000000-0000-0000-0000-000000000000" } };
    const options = { ...OPTIONS, force: true };
    await expect(kube.apply(SERVICES, withUid, options)).rejects.toMatchObject({ code: "KubeConflict" });
    const made = await kube.apply(SERVICES, draft, options);
    await expect(kube.apply(SERVICES, withUid, options)).rejects.toMatchObject({ code: "KubeConflict" });
    const right = { ...draft, metadata: { ...draft.metadata, uid: made.metadata.uid } };
    expect((await kube.apply(SERVICES, right, options)).metadata.uid).toBe(made.metadata.uid);
  });

  test("of the status subresource does not change the spec", async () => {
    const draft = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "budget", namespace } };
    const made = await kube.apply(
      POD_DISRUPTION_BUDGETS,
      { ...draft, spec: { maxUnavailable: 1, selector: { matchLabels: { a: "b" } } } },
      { ...OPTIONS, force: true },
    );
    const status = { disruptionsAllowed: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
    const after = await kube.apply(
      POD_DISRUPTION_BUDGETS,
      { ...draft, status },
      { ...OPTIONS, force: true, subresource: "status" },
    );
    expect(after.status).toMatchObject(status);
    expect(after.spec).toEqual(made.spec);
  });

  test("records the operator as field manager", async () => {
    const made = await kube.apply(SERVICES, service("owned", 1), { ...OPTIONS, force: true });
    const { managedFields } = made.metadata;
    expect(managedFields?.map((entry) => entry.manager)).toEqual([FIELD_MANAGER]);
  });
});

describe("refusals", () => {
  test("missing rights and refused admissions have different codes", async () => {
    const visitor = await server.clientFor("visitor");
    await expect(visitor.list(SECRETS, { namespace }, OPTIONS)).rejects.toMatchObject({ code: "KubeForbidden" });
    expect(await visitor.find(SECRETS, { namespace, name: "x" }, OPTIONS)).toMatchObject({ is: "unknown" });
    const strict = { "pod-security.kubernetes.io/enforce": "restricted" };
    await kube.create(
      NAMESPACES,
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "strict", labels: strict } },
      OPTIONS,
    );
    const pod: Draft<Pod> = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "loose", namespace: "strict" },
      spec: { hostNetwork: true, containers: [{ name: "c", image: "c" }] },
    };
    await expect(kube.create(PODS, pod, OPTIONS)).rejects.toMatchObject({
      code: "KubeInvalid",
      message: expect.stringMatching(/forbidden: violates PodSecurity.*HTTP 403/),
    });
  });

  test("an exceeded quota is KubeInvalid and not KubeForbidden", async () => {
    const quotas = resource<KubeObject>({
      group: "",
      version: "v1",
      kind: "ResourceQuota",
      plural: "resourcequotas",
      namespaced: true,
    });
    const quota = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "none", namespace: "kube-public" },
      spec: { hard: { secrets: "0" } },
    };
    await kube.create(quotas, quota as Draft<KubeObject>, OPTIONS);
    // Without controllers only this test writes the status, and admission uses it.
    const status = { hard: { secrets: "0" }, used: { secrets: "0" } };
    const { spec: _, ...bare } = quota;
    const options = { ...OPTIONS, force: true, subresource: "status" as const };
    await kube.apply(quotas, { ...bare, status } as Draft<KubeObject>, options);
    let number = 0;
    const over = async (): Promise<unknown> => {
      const draft = { ...secret(""), metadata: { name: `over-${number++}`, namespace: "kube-public" } };
      return await kube.create(SECRETS, draft, { ...OPTIONS, deadlineMs: 30_000 }).catch((thrown: unknown) => thrown);
    };
    // The quota applies once the server's own cache has it.
    await vi.waitFor(async () => {
      expect(await over()).toMatchObject({ code: "KubeInvalid", message: expect.stringContaining("quota") });
    }, 20_000);
  });

  test("a schema violation is KubeInvalid, with the field in the message", async () => {
    const bad = kube.create(SERVICES, service("bad", 0), OPTIONS);
    await expect(bad).rejects.toMatchObject({
      code: "KubeInvalid",
      message: expect.stringContaining("spec.ports[0].port"),
    });
    const badName = kube.create(SECRETS, secret("Bad_Name"), OPTIONS);
    await expect(badName).rejects.toMatchObject({ code: "KubeInvalid" });
  });

  test("an unknown token is KubeForbidden", async () => {
    const { KubeClient: Client } = await import("#kube/client.ts");
    const { kubeconfigFile } = await import("#kube/config.ts");
    const config = await kubeconfigFile(server.kubeconfig);
    const wrong = {
      ...config,
      credentials: async (fresh: boolean) => ({ ...(await config.credentials(fresh)), token: "wrong" }),
    };
    const client = new Client({ config: wrong, userAgent: "test" });
    await expect(client.list(SECRETS, { namespace }, OPTIONS)).rejects.toMatchObject({ code: "KubeForbidden" });
    await client.close();
  });

  test("a watch from an old resourceVersion is served or refused as KubeExpired", async () => {
    const watch = kube.watch(SECRETS, { resourceVersion: "1", timeoutSeconds: 5 }, OPTIONS);
    const first = watch.next().then(
      () => "something came",
      (thrown: unknown) => (hasCode(thrown, "KubeExpired") ? "expired" : thrown),
    );
    // The server still has everything since its start, so it may serve version 1. Any other error is wrong.
    expect(["expired", "something came"]).toContain(await first);
    await watch.return();
  });
});

describe("compared with the official client", () => {
  test("the same requests return the same objects", async () => {
    const oracle = oracleFor(server.kubeconfig);
    await kube.create(SECRETS, secret("seen-by-both", { k: "v" }), OPTIONS);
    const mine = await kube.get(SECRETS, { namespace, name: "seen-by-both" }, OPTIONS);
    expect(mine).toEqual(await oracle.read(mine));
    const { items, resourceVersion } = await kube.list(SECRETS, { namespace }, OPTIONS);
    const theirs = await oracle.listSecrets(namespace);
    expect(items.map((item) => item.metadata)).toEqual(theirs.items.map((item) => item.metadata));
    expect(resourceVersion).toBe(theirs.resourceVersion);
    const patched = await kube.patch(
      SECRETS,
      mine.metadata,
      { metadata: { labels: { x: "y" } } },
      { ...OPTIONS, type: "merge" },
    );
    expect(patched).toEqual(await oracle.read(mine));
    await kube.delete(SECRETS, mine.metadata, { ...OPTIONS, preconditions: { uid: mine.metadata.uid } });
    await expect(oracle.read(mine)).rejects.toMatchObject({ code: 404 });
  });
});
