import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { expectServed, TlsWriter } from "#kit/e2e/tls-writer.ts";
import { secretTexts } from "#kit/e2e/user-tls.ts";
import { BROUGHT, bringSecrets, THEIR_APPLICATION } from "#kit/snapshots/brought-tls.ts";

// Certificates change to another provider and back, while a client writes without pause. No acknowledged write is lost,
// and no certificate is refused on either side.

/** Three restarts of all members, with two and a half minutes for clients in between; on a busy machine. */
const CHANGED_MS = 1_500_000;
const OPERATOR = { provider: "Operator", secret: null } as const;
let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;

beforeAll(async () => {
  namespace = await testNamespace("providers");
  cluster = new UserCluster(namespace.name);
  await bringSecrets(cluster);
  await cluster.create({
    replicas: 3,
    tls: { peer: { provider: "Operator" }, client: { provider: "Operator" } },
  });
  await cluster.untilReady();
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

test("the TLS provider changes from Operator to Secret and back while a client writes", {
  timeout: 2 * CHANGED_MS + 300_000,
}, async () => {
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid");
  const { status } = await cluster.get();
  const clusterID = status?.identity?.clusterID;
  const writer = new TlsWriter(cluster);
  await eventually(() => Promise.resolve(expect(writer.acknowledged).toBeGreaterThan(10)));

  await cluster.patch({ tls: BROUGHT });
  // Members serve the supplied certificates, and accept the operator's as long as an application may still use one.
  await eventually(async () => {
    const { status: now } = await cluster.get();
    const told = now?.conditions?.find(({ type }) => type === "TLSReady");
    expect(told?.message).toContain("Secret my-etcd-client is signed by the previous CA");
    expect(now?.tls).toMatchObject({ peer: { issuedBy: BROUGHT.peer }, client: { issuedBy: BROUGHT.client } });
  }, CHANGED_MS);
  await writer.turnTo(THEIR_APPLICATION);
  await cluster.kubectl("delete", "secret", "my-etcd-client");
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid", CHANGED_MS);
  await cluster.untilCondition("UpToDate", "True", "UpToDate", CHANGED_MS);
  await expectServed(writer);

  await cluster.patch({ tls: { peer: OPERATOR, client: OPERATOR } });
  await cluster.untilCondition("TLSReady", "False", "CertificatesChanging", CHANGED_MS);
  // The operator hands certificates to applications once all members trust the CA.
  await eventually(() => secretTexts(cluster, "my-etcd-client"), CHANGED_MS);
  await writer.turnTo("my-etcd-client");
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid", CHANGED_MS);
  await cluster.untilCondition("UpToDate", "True", "UpToDate", CHANGED_MS);
  await expectServed(writer);
  await writer.end();
  expect((await cluster.untilReady()).status?.identity?.clusterID).toBe(clusterID);
});
