import { afterAll, beforeAll, expect, test } from "vitest";
import { applicationCertificateName, bindingName, TRUST_FILE, trustConfigMapName } from "#api/names.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { certificatesIn } from "#certificates/pem.ts";
import { ByClientSecret } from "#kit/e2e/client-secret.ts";
import { eventually, type Written } from "#kit/e2e/e2e.ts";
import type { LoadedCluster } from "#kit/e2e/loaded-cluster.ts";
import { RESTORED_MS } from "#kit/e2e/user-backups.ts";
import { secretTexts } from "#kit/e2e/user-tls.ts";
import { asApplicationUser, untilApplicationUser } from "#kit/etcd/application-user.ts";
import { BACK_MS } from "#kit/etcd/archived-history.ts";
import { CheckedHistory, isUpToDate, VERIFIED_MS } from "#kit/etcd/checked-history.ts";
import { CertManager, createIssuers, type Issuers } from "#kit/servers/cert-manager.ts";
import { BROUGHT, bringSecrets, THEIR_APPLICATION } from "#kit/snapshots/brought-tls.ts";
import type { ConfigMap } from "#kube/kinds.ts";

// Certificates of one cluster come from the operator, then from a real cert-manager, from supplied Secrets, and from
// the operator again, with auth enabled. Clients that write and read as a user must not notice. They read the CA bundle
// where applications do, and certificates are renewed every two minutes. Backups of each phase are verified, also the
// schedule's own, and all data is restored with TLS and users.

/** The shortest life that cert-manager allows; certificates are renewed all the time. */
const LIFE = { duration: "1h", renewBefore: "58m" } as const;
const ISSUED = { provider: "Operator", ...LIFE } as const;
const TLS = { peer: ISSUED, client: ISSUED } as const;
/** Removes the settings of the other providers. */
const OTHERS_GONE = { certManager: null, secret: null };
/** The shortest time that the operator allows: clients reread within this time, twice per change. */
const REREAD_SECONDS = 100;
/** Three or four restarts of all members, with that time for clients in between; on a busy machine. */
const CHANGED_MS = 1_000_000;
const TEST_MS = CHANGED_MS + 2 * VERIFIED_MS + 300_000;
const APPLICATION = applicationCertificateName("my-etcd");
const BINDING = bindingName("application");
const RESTORED = { replicas: 1, tls: TLS, auth: { enabled: true } };

let history: CheckedHistory;
let cluster: LoadedCluster;
let manager: CertManager;
let issuers: Issuers;

beforeAll(async () => {
  history = await CheckedHistory.start("providers", {
    tls: TLS,
    auth: { enabled: true },
    operatorFlags: [`--reread-within=${REREAD_SECONDS}s`],
    reachedBy: (user) => asApplicationUser(user, "the ConfigMap"),
  });
  cluster = history.cluster;
  manager = await CertManager.install(cluster.namespace);
  issuers = await createIssuers(cluster);
  // etcd knows the user by its certificate's common name, whichever CA has signed it.
  await bringSecrets(cluster, { application: APPLICATION });
});
afterAll(async () => {
  await history?.[Symbol.asyncDispose]();
  await manager?.[Symbol.asyncDispose]();
});

/** The clients' CA, once only one is trusted. */
async function trusted(): Promise<string> {
  return await eventually(async () => {
    const { data } = await cluster.json<ConfigMap>("get", "configmap", trustConfigMapName("my-etcd"));
    const authorities = certificatesIn(data?.[TRUST_FILE] ?? "");
    expect(authorities).toHaveLength(1);
    return authorities[0] ?? "";
  }, CHANGED_MS);
}

/**
 * Changes spec.tls without effect on clients; earlier writes are then archived, backed up and verified.
 * @param handOver what applications and people do during the change
 */
async function changed(
  to: string,
  tls: Written<EtcdClusterSpec>["tls"],
  handOver: () => Promise<void> = async () => undefined,
): Promise<void> {
  const before = await trusted();
  await history.unnoticed(to, async () => {
    await cluster.patch({ tls });
    await cluster.untilCondition("TLSReady", "False", "CertificatesChanging", CHANGED_MS);
    await handOver();
    await cluster.untilCondition("TLSReady", "True", "CertificatesValid", CHANGED_MS);
    await history.until(isUpToDate, CHANGED_MS);
    await cluster.untilCondition("AuthReady", "True", "AuthEnabled");
  });
  expect(await trusted()).not.toBe(before);
  const asNobody = cluster.etcdctl("my-etcd-0", "get", "--prefix", "", "--keys-only");
  await expect(asNobody).rejects.toThrow(/user name|permission denied/);
  await history.archive.expectStored(to);
  await history.expectVerified(to);
}

/** Waits until TLSReady reports that certificates of the previous CA will be rejected soon. */
async function untilTakenBack(): Promise<void> {
  await eventually(async () => {
    const { status } = await cluster.get();
    const told = status?.conditions?.find(({ type }) => type === "TLSReady");
    expect(told?.message).toContain("signed by the previous CA");
    expect(status?.tls).toMatchObject({ peer: { issuedBy: BROUGHT.peer }, client: { issuedBy: BROUGHT.client } });
  }, CHANGED_MS);
}

test("a scheduled backup of a cluster with TLS and auth is verified", { timeout: VERIFIED_MS }, async () => {
  await history.archive.expectScheduledVerified();
  await history.archive.expectStored("by-the-operator");
});

test("the TLS provider changes from Operator to CertManager", { timeout: TEST_MS }, async () => {
  await changed("by-cert-manager", {
    peer: { ...LIFE, provider: "CertManager", certManager: { issuerRef: issuers.company } },
    client: { ...LIFE, provider: "CertManager", certManager: { issuerRef: issuers.everywhere } },
  });
  await untilApplicationUser(cluster, "Bound");
});

test("a client notices nothing when it changes from the client Secret to the binding Secret of an EtcdUser", {
  timeout: 200_000,
}, async () => {
  await history.unnoticed("to the binding", async () => {
    await history.turnTo(await ByClientSecret.start(cluster, BINDING));
    await cluster.load.untilServed();
  });
});

test("the TLS provider changes from CertManager to Secret", { timeout: TEST_MS }, async () => {
  const nothingElse = { certManager: null, duration: null, renewBefore: null };
  const tls = { peer: { ...BROUGHT.peer, ...nothingElse }, client: { ...BROUGHT.client, ...nothingElse } };
  await changed("by-people", tls, async () => {
    await untilTakenBack();
    await history.turnTo(await ByClientSecret.start(cluster, THEIR_APPLICATION, "the ConfigMap"));
    const pair = ["tls.crt", "tls.key"].map((file) => ({ op: "remove", path: `/data/${file}` }));
    await cluster.kubectl("patch", "secret", BINDING, "--type=json", "-p", JSON.stringify(pair));
    await cluster.kubectl("delete", "secret", APPLICATION);
  });
});

test("the TLS provider changes from Secret to Operator", { timeout: TEST_MS }, async () => {
  const issued = { ...ISSUED, ...OTHERS_GONE };
  await changed("by-the-operator-again", { peer: issued, client: issued }, async () => {
    // The operator hands certificates to applications once all members trust the CA.
    await eventually(() => secretTexts(cluster, APPLICATION), CHANGED_MS);
    await history.turnTo(await ByClientSecret.start(cluster));
  });
  await untilApplicationUser(cluster, "Bound");
});

test("no acknowledged write is missing, the watch missed no event, and all members have the same data", async () => {
  await history.end();
});

test(
  "the latest backup restores a cluster with TLS and users",
  async () => {
    await history.expectRestored(RESTORED);
  },
  RESTORED_MS + 400_000,
);

test(
  "all writes are restored from the archive, which has no gap, with TLS and users",
  async () => {
    expect(history.archive.markers).toEqual([
      "by-the-operator",
      "by-cert-manager",
      "by-people",
      "by-the-operator-again",
    ]);
    await history.archive.expectAllBack(RESTORED);
  },
  BACK_MS,
);
