import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { secretTexts } from "#kit/e2e/user-tls.ts";

// The clients' CA is rotated while the API server refuses writes to one binding. Applications have two and a half
// minutes to reread their Secret before each step.

const TLS = { peer: { provider: "Operator" }, client: { provider: "Operator" } } as const;
const STEP_MS = 400_000;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;

beforeAll(async () => {
  namespace = await testNamespace("binding-rotation");
  cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 1, tls: TLS });
  for (const name of ["shop", "billing"]) {
    await cluster.make("EtcdUser", name, {
      clusterRef: { name: "my-etcd" },
      authentication: { type: name === "billing" ? "Certificate" : "Password" },
    });
  }
  await cluster.untilReady();
  await eventually(async () => expect(await bindings()).toEqual(bindingsBy([await authority()])), 60_000);
});
afterAll(async () => await namespace?.[Symbol.asyncDispose]());

/** SHA-256 of the CA that signs. */
async function authority(): Promise<string> {
  return idOf(new X509Certificate((await secretTexts(cluster, "my-etcd-client-ca"))["tls.crt"] ?? ""));
}

/** Bindings in the status of the EtcdUsers. */
async function bindings() {
  const all = await Promise.all(["shop", "billing"].map((name) => cluster.json<EtcdUser>("get", "etcduser", name)));
  return all.map(({ status }) => status?.binding);
}

/** Expected bindings: all Secrets trust these CAs, and the first one has signed the certificate. */
function bindingsBy(trusts: readonly string[]) {
  return ["shop", "billing"].map((name) => ({ name: `${name}-binding`, trusts, signedBy: trusts[0] }));
}

async function tlsReady(): Promise<string> {
  const { status } = await cluster.get();
  return status?.conditions?.find(({ type }) => type === "TLSReady")?.message ?? "";
}

test("a CA rotation waits while the binding Secret of an EtcdUser cannot be updated, and TLSReady names the Secret", async () => {
  const before = await authority();
  // An immutable Secret can only be changed by deleting it.
  await cluster.kubectl("patch", "secret", "shop-binding", "-p", '{"immutable":true}');
  await cluster.kubectl("annotate", "etcdcluster", "my-etcd", "etcd.improbable.io/rotate-client-ca=1");
  await eventually(async () => {
    const its = "Secret shop-binding of EtcdUser shop (StepRefused) has to list the new CA in ca.crt";
    expect(await tlsReady()).toContain(`before the new CA signs, ${its}`);
  }, STEP_MS);
  expect(await authority()).toBe(before);
  const [shop, billing] = await bindings();
  expect([shop?.trusts?.length, billing?.trusts?.length]).toEqual([1, 2]);
}, 450_000);

test("a CA rotation completes when the binding Secret can be written again", async () => {
  const before = await authority();
  await cluster.kubectl("delete", "secret", "shop-binding");
  await eventually(async () => expect(await authority()).not.toBe(before), STEP_MS);
  const next = await authority();
  await eventually(async () => expect(await bindings()).toEqual(bindingsBy([next])), 2 * STEP_MS);
  for (const name of ["shop-binding", "billing-binding", "my-etcd-client", "my-etcd-server-tls"])
    expect(parsedIn((await secretTexts(cluster, name))["ca.crt"] ?? "").map(idOf)).toEqual([next]);
  await eventually(async () => expect(await tlsReady()).not.toContain("EtcdUser"), 60_000);
}, 1_300_000);
