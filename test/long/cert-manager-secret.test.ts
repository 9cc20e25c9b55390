import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { expectServed, TlsWriter } from "#kit/e2e/tls-writer.ts";
import { secretTexts } from "#kit/e2e/user-tls.ts";
import { CertManager, createIssuers, type Issuers } from "#kit/servers/cert-manager.ts";
import { BROUGHT, bringSecrets, THEIR_APPLICATION } from "#kit/snapshots/brought-tls.ts";

// Certificates come from a real cert-manager, then from supplied Secrets, and from cert-manager again, without the
// operator in between, while a client writes without pause. No acknowledged write is lost, and no certificate is
// refused.

/** Three restarts of all members, with two and a half minutes for clients in between; on a busy machine. */
const CHANGED_MS = 1_500_000;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let manager: CertManager;
let issuers: Issuers;

beforeAll(async () => {
  namespace = await testNamespace("cert-manager");
  cluster = new UserCluster(namespace.name);
  manager = await CertManager.install(namespace.name);
  issuers = await createIssuers(cluster);
  await bringSecrets(cluster);
  await cluster.create({ replicas: 3, tls: managed() });
  await cluster.untilReady(180_000);
});
afterAll(async () => {
  await namespace?.[Symbol.asyncDispose]();
  await manager?.[Symbol.asyncDispose]();
});

function managed() {
  return {
    peer: { provider: "CertManager", certManager: { issuerRef: issuers.company }, secret: null },
    client: { provider: "CertManager", certManager: { issuerRef: issuers.everywhere }, secret: null },
  } as const;
}

async function untilChanged(): Promise<void> {
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid", CHANGED_MS);
  await cluster.untilCondition("UpToDate", "True", "UpToDate", CHANGED_MS);
}

test("the TLS provider changes from CertManager to Secret and back while a client writes", {
  timeout: 2 * CHANGED_MS + 300_000,
}, async () => {
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid");
  const { status } = await cluster.get();
  const clusterID = status?.identity?.clusterID;
  const writer = new TlsWriter(cluster);
  await eventually(() => Promise.resolve(expect(writer.acknowledged).toBeGreaterThan(10)));

  const { peer, client } = BROUGHT;
  await cluster.patch({ tls: { peer: { ...peer, certManager: null }, client: { ...client, certManager: null } } });
  await eventually(async () => {
    const { status: now } = await cluster.get();
    const told = now?.conditions?.find(({ type }) => type === "TLSReady");
    expect(told?.message).toContain("Secret my-etcd-client is signed by the previous CA");
    expect(now?.tls).toMatchObject({ peer: { issuedBy: BROUGHT.peer }, client: { issuedBy: BROUGHT.client } });
  }, CHANGED_MS);
  await writer.turnTo(THEIR_APPLICATION);
  await cluster.kubectl("delete", "secret", "my-etcd-client");
  await untilChanged();
  await expectServed(writer);

  await cluster.patch({ tls: managed() });
  await cluster.untilCondition("TLSReady", "False", "CertificatesChanging", CHANGED_MS);
  await eventually(() => secretTexts(cluster, "my-etcd-client"), CHANGED_MS);
  await writer.turnTo("my-etcd-client");
  await untilChanged();
  await expectServed(writer);
  await writer.end();
  expect((await cluster.untilReady()).status?.identity?.clusterID).toBe(clusterID);
});
