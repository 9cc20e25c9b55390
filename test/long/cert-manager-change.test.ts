import { afterAll, beforeAll, expect, test } from "vitest";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { eventually, testNamespace, UserCluster, type Written } from "#kit/e2e/e2e.ts";
import { expectServed, TlsWriter } from "#kit/e2e/tls-writer.ts";
import { allShown } from "#kit/e2e/user-tls.ts";
import { CertManager, createIssuers, type Issuers, requestsOf } from "#kit/servers/cert-manager.ts";

// Certificates come from a real cert-manager, then from the operator again, while a client writes without pause. No
// acknowledged write is lost, no certificate is refused, and applications find their files in the same place.

/** Three or four restarts of all members, with two and a half minutes for clients in between; on a busy machine. */
const CHANGED_MS = 1_500_000;
const OPERATOR = { provider: "Operator", certManager: null } as const;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let manager: CertManager;
let issuers: Issuers;

beforeAll(async () => {
  namespace = await testNamespace("cert-manager");
  cluster = new UserCluster(namespace.name);
  manager = await CertManager.install(namespace.name);
  issuers = await createIssuers(cluster);
  await cluster.create({
    replicas: 3,
    tls: { peer: { provider: "Operator" }, client: { provider: "Operator" } },
  });
  await cluster.untilReady();
});
afterAll(async () => {
  await namespace?.[Symbol.asyncDispose]();
  await manager?.[Symbol.asyncDispose]();
});

/** Changes spec.tls, and waits until members serve only certificates of the new provider. */
async function changeTo(tls: Written<EtcdClusterSpec>["tls"]): Promise<void> {
  await cluster.patch({ tls });
  await eventually(async () => {
    const { metadata, status } = await cluster.get();
    const told = status?.conditions?.find(({ type }) => type === "TLSReady");
    expect(told).toMatchObject({ status: "False", observedGeneration: metadata.generation });
  }, CHANGED_MS);
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid", CHANGED_MS);
  await cluster.untilCondition("UpToDate", "True", "UpToDate", CHANGED_MS);
}

test("the TLS provider changes from Operator to CertManager and back while a client writes", {
  timeout: 2 * CHANGED_MS + 300_000,
}, async () => {
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid");
  const { status } = await cluster.get();
  const clusterID = status?.identity?.clusterID;
  const before = await allShown(cluster);
  const writer = new TlsWriter(cluster);
  await eventually(() => Promise.resolve(expect(writer.acknowledged).toBeGreaterThan(10)));

  await changeTo({
    peer: { provider: "CertManager", certManager: { issuerRef: issuers.company } },
    client: { provider: "CertManager", certManager: { issuerRef: issuers.everywhere } },
  });
  await writer.turnTo("my-etcd-client");
  await expectServed(writer);
  const peer = (await requestsOf(cluster)).find(({ metadata }) => metadata.name.startsWith("my-etcd-peer-tls"));
  const between = await allShown(cluster, peer?.metadata.name);
  for (const [where, { fingerprint }] of between) expect(fingerprint).not.toBe(before.get(where)?.fingerprint);

  await changeTo({ peer: OPERATOR, client: OPERATOR });
  await writer.turnTo("my-etcd-client");
  await expectServed(writer);
  await writer.end();
  for (const [where, { fingerprint }] of await allShown(cluster))
    expect(fingerprint).not.toBe(between.get(where)?.fingerprint);
  expect((await cluster.untilReady()).status?.identity?.clusterID).toBe(clusterID);
});
