import { afterAll, beforeAll, expect, test } from "vitest";
import { applicationCertificateName, bindingName, TRUST_FILE, trustConfigMapName } from "#api/names.ts";
import { certificatesIn } from "#certificates/pem.ts";
import { asApplicationUser, untilApplicationUser } from "#kit/application-user.ts";
import { BACK_MS } from "#kit/archived-history.ts";
import { BROUGHT, bringSecrets, THEIR_APPLICATION } from "#kit/brought-tls.ts";
import { CertManager, createIssuers, type Issuers } from "#kit/cert-manager.ts";
import { CheckedHistory, isUpToDate, VERIFIED_MS } from "#kit/checked-history.ts";
import { ByClientSecret } from "#kit/client-secret.ts";
import { eventually } from "#kit/e2e.ts";
import type { LoadedCluster } from "#kit/loaded-cluster.ts";
import { RESTORED_MS } from "#kit/user-backups.ts";
import { secretTexts } from "#kit/user-tls.ts";
import type { ConfigMap } from "#kube/kinds.ts";

// What the members of one cluster show comes from the operator, then from cert-manager as it is, from Secrets that people bring, and from the operator
// again, while etcd asks for users: clients that write and read as a user are to notice nothing of it. They read whom they trust where applications
// read it, and what is issued is renewed every two minutes. Backups of each time are verified, the schedule's own one among them, and what was written
// comes back with TLS and users.

/** What is issued lasts as short as cert-manager allows, and is renewed all along. */
const LIFE = { duration: "1h", renewBefore: "58m" } as const;
const ISSUED = { provider: "Operator", ...LIFE } as const;
const TLS = { peer: ISSUED, client: ISSUED };
/** What else was said before it. */
const OTHERS_GONE = { certManager: null, secret: null };
/** As short as an operator allows: so long clients have to read anew, twice with each change. */
const REREAD_SECONDS = 100;
/** Three or four times all members restart, and clients have that time in between; on a busy machine. */
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
    tls: TLS as never, // the API server fills in the rest
    auth: { enabled: true },
    operatorFlags: [`--reread-within=${REREAD_SECONDS}`],
    reachedBy: (user) => asApplicationUser(user, "the ConfigMap"),
  });
  cluster = history.cluster;
  manager = await CertManager.install(cluster.namespace);
  issuers = await createIssuers(cluster);
  // The user is known by the name that its certificate shows, whoever has signed it.
  await bringSecrets(cluster, { application: APPLICATION });
});
afterAll(async () => {
  await history?.[Symbol.asyncDispose]();
  await manager?.[Symbol.asyncDispose]();
});

/** Whom clients are told to trust: one authority, once what there was before is believed no more. */
async function trusted(): Promise<string> {
  return await eventually(async () => {
    const { data } = await cluster.json<ConfigMap>("get", "configmap", trustConfigMapName("my-etcd"));
    const authorities = certificatesIn(data?.[TRUST_FILE] ?? "");
    expect(authorities).toHaveLength(1);
    return authorities[0] ?? "";
  }, CHANGED_MS);
}

/**
 * Members come to show something else, which nobody notices, and what has been written by then is archived, backed up and verified.
 * @param handOver what applications and people do meanwhile
 */
async function changed(to: string, tls: object, handOver: () => Promise<void> = async () => undefined): Promise<void> {
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

/** Waits until it is told that what applications were given before is not believed for much longer. */
async function untilTakenBack(): Promise<void> {
  await eventually(async () => {
    const { status } = await cluster.get();
    const told = status?.conditions?.find(({ type }) => type === "TLSReady");
    expect(told?.message).toContain("a former authority");
    expect(status?.issuedBy).toMatchObject(BROUGHT);
  }, CHANGED_MS);
}

test("the schedule backs up what asks for TLS and users, and has it verified", { timeout: VERIFIED_MS }, async () => {
  await history.archive.expectScheduledVerified();
  await history.archive.expectStored("by-the-operator");
});

test("from the operator to cert-manager", { timeout: TEST_MS }, async () => {
  await changed("by-cert-manager", {
    peer: { ...LIFE, provider: "CertManager", certManager: { issuerRef: issuers.company } },
    client: { ...LIFE, provider: "CertManager", certManager: { issuerRef: issuers.everywhere } },
  });
  await untilApplicationUser(cluster, "Bound");
});

test("a binding says what Secrets for applications say", { timeout: 200_000 }, async () => {
  await history.unnoticed("to the binding", async () => {
    await history.turnTo(await ByClientSecret.start(cluster, BINDING));
    await cluster.load.untilServed();
  });
});

test("from cert-manager to Secrets that people bring", { timeout: TEST_MS }, async () => {
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

test("from Secrets that people bring to the operator", { timeout: TEST_MS }, async () => {
  const issued = { ...ISSUED, ...OTHERS_GONE };
  await changed("by-the-operator-again", { peer: issued, client: issued }, async () => {
    // What the operator issues for applications is there once all members believe it.
    await eventually(() => secretTexts(cluster, APPLICATION), CHANGED_MS);
    await history.turnTo(await ByClientSecret.start(cluster));
  });
  await untilApplicationUser(cluster, "Bound");
});

test("no acknowledged write is missing, a watch was told all, and all members have the same data", async () => {
  await history.end();
});

test(
  "the latest backup is a cluster with TLS and users",
  async () => {
    await history.expectRestored(RESTORED);
  },
  RESTORED_MS + 400_000,
);

test(
  "all that was written comes back from the archive, which has no gap, with TLS and users",
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
