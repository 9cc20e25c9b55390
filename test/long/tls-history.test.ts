import { afterAll, beforeAll, expect, test } from "vitest";
import {
  applicationCertificateName,
  bindingName,
  CERTIFICATE_FILE,
  clientAuthorityName,
  operatorCertificateName,
  peerAuthorityName,
  peerCertificateName,
  ROTATE_CA_ANNOTATION,
  ROTATE_CREDENTIALS_ANNOTATION,
  ROTATED_FOR_ANNOTATION,
  serverCertificateName,
  TRUST_FILE,
} from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { certificatesIn } from "#certificates/pem.ts";
import { makeApplicationUser, untilApplicationUser } from "#kit/application-user.ts";
import { ArchivedHistory, BACK_MS } from "#kit/archived-history.ts";
import { ByClientSecret } from "#kit/client-secret.ts";
import { eventually } from "#kit/e2e.ts";
import { certificateSecrets, expectGoodCertificates } from "#kit/judged-certificates.ts";
import { expectPromised, LoadedCluster } from "#kit/loaded-cluster.ts";
import { inPlaintext } from "#kit/reach.ts";
import type { Secret } from "#kube/kinds.ts";

// A cluster without TLS comes to it, to users, to new credentials of theirs, to other authorities, and all the way back, while clients write and read
// without pause. Its certificates are renewed after a minute each, so that all of this happens while they are renewed. Half of the clients keep their
// connections, the others make one for each request, and each reads what it is given again and again. What is under way when a member restarts may be cut off, and is
// asked for once more; no request fails twice, and one copy of each key explains all that they saw. A schedule archives every change meanwhile: at
// the end all that was written after its backup comes back, from before the first of it to after the last.

const LIFE = { provider: "Operator", duration: "10m", renewBefore: "9m" } as const;
/** By which members are reached besides. */
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
/** All members restart three times, on a busy machine. */
const SWITCHED_MS = 500_000;
/** They restart three times, and clients have two and a half minutes, twice. */
const ROTATED_MS = 970_000;
/** Renewed after a minute, and once more. */
const RENEWED_MS = 240_000;
const AUTH_MS = 120_000;
/** Handshakes cost more than requests: as many as one of these clients makes in this time, in milliseconds. */
const EVERY_MS = 200;

let cluster: LoadedCluster;
/** Who the members are, which nothing of this changes. */
let ids: readonly (string | undefined)[];
let archive: ArchivedHistory;
/** What applications are given. */
let given: ByClientSecret | undefined;

beforeAll(async () => {
  cluster = await LoadedCluster.start("tls-history", { load: { again: "once", anew: true, everyMs: EVERY_MS } });
  ids = await idsOf();
  archive = await ArchivedHistory.start(cluster);
});
afterAll(async () => {
  await given?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

async function idsOf(): Promise<readonly (string | undefined)[]> {
  const { status } = await cluster.get();
  return [status?.identity?.clusterID, ...(status?.members?.map(({ id }) => id) ?? [])];
}

/** Does something, and asks that nobody has noticed more than a new connection. */
async function unnoticed(what: string, work: () => Promise<void>): Promise<void> {
  const felt = await cluster.feltDuring(what, async () => {
    await work();
    await cluster.untilWhole(3);
  });
  expectPromised(felt, 0);
  expect(felt.answeredReads).toBeGreaterThan(0);
  expect(await idsOf()).toEqual(ids);
}

async function until(is: (found: EtcdCluster) => boolean, deadlineMs: number): Promise<void> {
  await eventually(async () => {
    const found = await cluster.get();
    const isCurrent = found.status?.observedGeneration === found.metadata.generation;
    expect(isCurrent && is(found), JSON.stringify(found.status)).toBe(true);
  }, deadlineMs);
}

const isUpToDate = ({ status }: EtcdCluster) =>
  status?.update === undefined &&
  status?.conditions?.some(({ type, status: is }) => type === "UpToDate" && is === "True") === true;
const servesBoth = (found: EtcdCluster) =>
  isUpToDate(found) && found.status?.tls?.client?.bothServedSince !== undefined;
const serves = (scheme: "http" | "https") => (found: EtcdCluster) =>
  isUpToDate(found) &&
  found.status?.tls?.client?.scheme === scheme &&
  found.status.tls.client.bothServedSince === undefined;

/** What these Secrets say, each of them. */
async function saidBy(names: readonly string[], file: string): Promise<readonly string[]> {
  const secrets = await certificateSecrets(cluster);
  return names.map((name) => secrets.get(name)?.[file] ?? "");
}

test(
  "TLS comes, while clients go over to it",
  async () => {
    await unnoticed("to TLS", async () => {
      await cluster.patch({ tls: { peer: LIFE, client: { ...LIFE, ...PLAINTEXT_FOR, extraNames: NAMES } } });
      await until(servesBoth, SWITCHED_MS);
      given = await ByClientSecret.start(cluster);
      cluster.load.turnTo(given);
      await until(serves("https"), SWITCHED_MS);
    });
    await archive.expectStored("over-tls");
    await expectGoodCertificates(cluster, JUDGED);
  },
  2 * SWITCHED_MS + 200_000,
);

test(
  "users are asked for",
  async () => {
    // By the common name of what the clients show.
    await makeApplicationUser(cluster);
    await untilApplicationUser(cluster, "AuthDisabled", AUTH_MS);
    await unnoticed("to users", async () => {
      await cluster.patch({ auth: { enabled: true } });
      await cluster.untilCondition("AuthReady", "True", "AuthEnabled", AUTH_MS);
      const asNobody = cluster.etcdctl("my-etcd-0", "get", "--prefix", "", "--keys-only");
      await expect(asNobody).rejects.toThrow(/user name|permission denied/);
    });
    await archive.expectStored("users");
    await expectGoodCertificates(cluster, { ...JUDGED, users: USERS });
  },
  3 * AUTH_MS + 200_000,
);

test(
  "a user is given new credentials",
  async () => {
    const bound = await ByClientSecret.start(cluster, bindingName("application"));
    cluster.load.turnTo(bound);
    await given?.[Symbol.asyncDispose]();
    given = bound;
    await unnoticed("to new credentials", async () => {
      await cluster.kubectl("annotate", "etcduser", "application", `${ROTATE_CREDENTIALS_ANNOTATION}=1`);
      await eventually(async () => {
        const { metadata } = await cluster.json<Secret>("get", "secret", bindingName("application"));
        expect(metadata.annotations?.[ROTATED_FOR_ANNOTATION]).toBe("1");
      }, AUTH_MS);
      const had = bound.certificates;
      await eventually(() => Promise.resolve(expect(bound.certificates).toBeGreaterThan(had)), RENEWED_MS);
    });
    await expectGoodCertificates(cluster, { ...JUDGED, users: USERS });
  },
  AUTH_MS + RENEWED_MS + 200_000,
);

test(
  "other authorities follow",
  async () => {
    const before = await saidBy(AUTHORITIES, CERTIFICATE_FILE);
    await unnoticed("to other authorities", async () => {
      await cluster.kubectl("annotate", "etcdcluster", cluster.name, `${ROTATE_CA_ANNOTATION}=all`);
      await eventually(async () => {
        for (const now of await saidBy(AUTHORITIES, CERTIFICATE_FILE)) expect(before).not.toContain(now);
        for (const trusted of await saidBy(LEAVES, TRUST_FILE)) expect(certificatesIn(trusted)).toHaveLength(1);
      }, ROTATED_MS);
      await until(isUpToDate, SWITCHED_MS);
    });
    await archive.expectStored("other-authorities");
    await expectGoodCertificates(cluster, { ...JUDGED, users: USERS });
  },
  ROTATED_MS + SWITCHED_MS + 200_000,
);

test(
  "all certificates are made anew",
  async () => {
    const before = await saidBy(LEAVES, CERTIFICATE_FILE);
    const had = given?.certificates ?? 0;
    await unnoticed("to new certificates", async () => {
      await eventually(async () => {
        for (const now of await saidBy(LEAVES, CERTIFICATE_FILE)) expect(before).not.toContain(now);
        expect(given?.certificates).toBeGreaterThan(had);
      }, RENEWED_MS);
    });
    await archive.expectStored("other-certificates");
    await expectGoodCertificates(cluster, { ...JUDGED, users: USERS });
  },
  RENEWED_MS + 200_000,
);

test(
  "users are asked for no more",
  async () => {
    await unnoticed("to no users", async () => {
      await cluster.patch({ auth: { enabled: false } });
      await cluster.untilCondition("AuthReady", "True", "AuthDisabled", AUTH_MS);
      await eventually(() => cluster.etcdctl("my-etcd-0", "get", "--prefix", "", "--keys-only"));
    });
    await expectGoodCertificates(cluster, { ...JUDGED, users: USERS });
  },
  2 * AUTH_MS + 200_000,
);

test(
  "TLS goes, while clients go back",
  async () => {
    await unnoticed("from TLS", async () => {
      await cluster.patch({ tls: { peer: NONE, client: { ...NONE, ...PLAINTEXT_FOR, extraNames: null } } });
      await until(servesBoth, SWITCHED_MS);
      cluster.load.turnTo(inPlaintext(cluster));
      await until(serves("http"), SWITCHED_MS);
    });
    await archive.expectStored("in-plain-http");
  },
  2 * SWITCHED_MS + 200_000,
);

test("no acknowledged write is missing, and all members have the same data", async () => {
  await cluster.end();
});

test(
  "all that was written comes back from the archive, which has no gap",
  async () => {
    expect(archive.markers).toEqual(["over-tls", "users", "other-authorities", "other-certificates", "in-plain-http"]);
    await archive.expectAllBack();
  },
  BACK_MS,
);
