import { afterAll, beforeAll, expect, test } from "vitest";
import {
  applicationCertificateName,
  bindingName,
  CERTIFICATE_FILE,
  clientAuthorityName,
  operatorCertificateName,
  peerAuthorityName,
  peerCertificateName,
  ROTATE_CA_ANNOTATIONS,
  ROTATE_CREDENTIALS_ANNOTATION,
  ROTATED_FOR_ANNOTATION,
  serverCertificateName,
  TRUST_FILE,
} from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { certificatesIn } from "#certificates/pem.ts";
import { ByClientSecret } from "#kit/e2e/client-secret.ts";
import { eventually } from "#kit/e2e/e2e.ts";
import type { LoadedCluster } from "#kit/e2e/loaded-cluster.ts";
import { inPlaintext } from "#kit/e2e/reach.ts";
import { RESTORED_MS } from "#kit/e2e/user-backups.ts";
import { makeApplicationUser, untilApplicationUser } from "#kit/etcd/application-user.ts";
import { BACK_MS } from "#kit/etcd/archived-history.ts";
import { CheckedHistory, isUpToDate, VERIFIED_MS } from "#kit/etcd/checked-history.ts";
import { certificateSecrets, expectGoodCertificates } from "#kit/tables/judged-certificates.ts";
import type { Secret } from "#kube/kinds.ts";

// A cluster without TLS gets TLS, users, new credentials and new CAs, and then gives them up. Clients must not notice.
// Certificates are renewed after a minute each, so all of this happens during renewals. Backups of each phase are
// verified. At the end, everything written since the schedule's own backup is restored, across all phases.

const LIFE = { provider: "Operator", duration: "10m", renewBefore: "9m" } as const;
/** Additional names of the members. */
const NAMES = ["etcd.example.com", "192.0.2.7"];
const JUDGED = { lifeMs: 600_000, extraNames: NAMES };
const NONE = { provider: "None", duration: null, renewBefore: null } as const;
const PLAINTEXT_FOR = { plaintextFor: "1m" } as const;
const AUTHORITIES = [peerAuthorityName("my-etcd"), clientAuthorityName("my-etcd")];
/** EtcdUsers with a certificate. */
const USERS = ["application"];
const LEAVES = [
  ...[peerCertificateName, serverCertificateName, operatorCertificateName, applicationCertificateName].map((name) =>
    name("my-etcd"),
  ),
  ...USERS.map(bindingName),
];
/** Three restarts of all members, on a busy machine. */
const SWITCHED_MS = 500_000;
/** Three restarts of all members, and two and a half minutes for clients, twice. */
const ROTATED_MS = 970_000;
/** Two renewals, one minute each, and time for kubelets. */
const RENEWED_MS = 240_000;
const AUTH_MS = 120_000;
/** The spec of the cluster halfway, and of the clusters restored from that time. */
const SECURED = { replicas: 1, tls: { peer: LIFE, client: LIFE }, auth: { enabled: true } };

let history: CheckedHistory;
let cluster: LoadedCluster;

beforeAll(async () => {
  history = await CheckedHistory.start("tls-history");
  cluster = history.cluster;
});
afterAll(async () => await history?.[Symbol.asyncDispose]());

const servesBoth = (found: EtcdCluster) =>
  isUpToDate(found) && found.status?.tls?.client?.bothServedSince !== undefined;
const serves = (scheme: "http" | "https") => (found: EtcdCluster) =>
  isUpToDate(found) &&
  found.status?.tls?.client?.scheme === scheme &&
  found.status.tls.client.bothServedSince === undefined;

/** The file's content in each of these Secrets. */
async function saidBy(names: readonly string[], file: string): Promise<readonly string[]> {
  const secrets = await certificateSecrets(cluster);
  return names.map((name) => secrets.get(name)?.[file] ?? "");
}

test(
  "TLS is switched on while clients change to TLS",
  async () => {
    await history.unnoticed("to TLS", async () => {
      await cluster.patch({ tls: { peer: LIFE, client: { ...LIFE, ...PLAINTEXT_FOR, extraNames: NAMES } } });
      await history.until(servesBoth, SWITCHED_MS);
      await history.turnTo(await ByClientSecret.start(cluster));
      await history.until(serves("https"), SWITCHED_MS);
    });
    await history.archive.expectStored("over-tls");
    await expectGoodCertificates(cluster, JUDGED);
  },
  2 * SWITCHED_MS + 200_000,
);

test(
  "auth is enabled",
  async () => {
    // The user is known by the common name of the clients' certificate.
    await makeApplicationUser(cluster);
    await untilApplicationUser(cluster, "AuthDisabled", AUTH_MS);
    await history.unnoticed("to users", async () => {
      await cluster.patch({ auth: { enabled: true } });
      await cluster.untilCondition("AuthReady", "True", "AuthEnabled", AUTH_MS);
      const asNobody = cluster.etcdctl("my-etcd-0", "get", "--prefix", "", "--keys-only");
      await expect(asNobody).rejects.toThrow(/user name|permission denied/);
    });
    await history.archive.expectStored("users");
    await history.expectVerified("users");
    await expectGoodCertificates(cluster, { ...JUDGED, users: USERS });
  },
  3 * AUTH_MS + 2 * VERIFIED_MS + 200_000,
);

test(
  "the credentials of an EtcdUser are rotated",
  async () => {
    await history.turnTo(await ByClientSecret.start(cluster, bindingName("application")));
    await history.unnoticed("to new credentials", async () => {
      await cluster.kubectl("annotate", "etcduser", "application", `${ROTATE_CREDENTIALS_ANNOTATION}=1`);
      await eventually(async () => {
        const { metadata } = await cluster.json<Secret>("get", "secret", bindingName("application"));
        expect(metadata.annotations?.[ROTATED_FOR_ANNOTATION]).toBe("1");
      }, AUTH_MS);
      const had = history.certificates;
      await eventually(() => Promise.resolve(expect(history.certificates).toBeGreaterThan(had)), RENEWED_MS);
    });
    await expectGoodCertificates(cluster, { ...JUDGED, users: USERS });
  },
  AUTH_MS + RENEWED_MS + 200_000,
);

test(
  "both CAs are rotated",
  async () => {
    const before = await saidBy(AUTHORITIES, CERTIFICATE_FILE);
    await history.unnoticed("to other authorities", async () => {
      const wishes = Object.values(ROTATE_CA_ANNOTATIONS).map((annotation) => `${annotation}=1`);
      await cluster.kubectl("annotate", "etcdcluster", cluster.name, ...wishes);
      await eventually(async () => {
        for (const now of await saidBy(AUTHORITIES, CERTIFICATE_FILE)) expect(before).not.toContain(now);
        for (const trusted of await saidBy(LEAVES, TRUST_FILE)) expect(certificatesIn(trusted)).toHaveLength(1);
      }, ROTATED_MS);
      await history.until(isUpToDate, SWITCHED_MS);
    });
    await history.archive.expectStored("other-authorities");
    await history.expectVerified("other-authorities");
    await expectGoodCertificates(cluster, { ...JUDGED, users: USERS });
  },
  ROTATED_MS + SWITCHED_MS + 2 * VERIFIED_MS + 200_000,
);

test(
  "all certificates are renewed",
  async () => {
    const before = await saidBy(LEAVES, CERTIFICATE_FILE);
    const had = history.certificates;
    await history.unnoticed("to new certificates", async () => {
      await eventually(async () => {
        for (const now of await saidBy(LEAVES, CERTIFICATE_FILE)) expect(before).not.toContain(now);
        expect(history.certificates).toBeGreaterThan(had);
      }, RENEWED_MS);
    });
    await history.archive.expectStored("other-certificates");
    await history.expectVerified("other-certificates");
    await expectGoodCertificates(cluster, { ...JUDGED, users: USERS });
  },
  RENEWED_MS + 2 * VERIFIED_MS + 200_000,
);

test(
  "auth is disabled",
  async () => {
    await history.unnoticed("to no users", async () => {
      await cluster.patch({ auth: { enabled: false } });
      await cluster.untilCondition("AuthReady", "True", "AuthDisabled", AUTH_MS);
      await eventually(() => cluster.etcdctl("my-etcd-0", "get", "--prefix", "", "--keys-only"));
    });
    await expectGoodCertificates(cluster, { ...JUDGED, users: USERS });
  },
  2 * AUTH_MS + 200_000,
);

test(
  "TLS is switched off while clients change back",
  async () => {
    await history.unnoticed("from TLS", async () => {
      await cluster.patch({ tls: { peer: NONE, client: { ...NONE, ...PLAINTEXT_FOR, extraNames: null } } });
      await history.until(servesBoth, SWITCHED_MS);
      await history.turnTo(inPlaintext(cluster));
      await history.until(serves("http"), SWITCHED_MS);
    });
    await history.archive.expectStored("in-plain-http");
  },
  2 * SWITCHED_MS + 200_000,
);

test("no acknowledged write is missing, the watch missed no event, and all members have the same data", async () => {
  await history.end();
});

test(
  "the latest backup made under TLS restores a cluster with TLS and users",
  async () => {
    await history.expectRestored(SECURED);
  },
  RESTORED_MS + 400_000,
);

test(
  "all writes are restored from the archive, which has no gap",
  async () => {
    expect(history.archive.markers).toEqual([
      "over-tls",
      "users",
      "other-authorities",
      "other-certificates",
      "in-plain-http",
    ]);
    await history.archive.expectAllBack();
  },
  BACK_MS,
);
