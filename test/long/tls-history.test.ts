import { afterAll, beforeAll, expect, test } from "vitest";
import {
  applicationCertificateName,
  BACKUP_DESTINATION_LABEL,
  CERTIFICATE_FILE,
  clientAuthorityName,
  operatorCertificateName,
  peerAuthorityName,
  peerCertificateName,
  ROTATE_CA_ANNOTATION,
  serverCertificateName,
  TRUST_FILE,
} from "#api/names.ts";
import { NO_TLS } from "#api/tls.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { certificatesIn } from "#certificates/pem.ts";
import { ByClientSecret } from "#kit/client-secret.ts";
import { eventually, kubectl, UserCluster } from "#kit/e2e.ts";
import { certificateSecrets, expectGoodCertificates } from "#kit/judged-certificates.ts";
import { expectPromised, LoadedCluster } from "#kit/loaded-cluster.ts";
import { inPlaintext } from "#kit/reach.ts";

// A cluster without TLS comes to it, to other authorities, to users, and all the way back, while clients write and read without pause. Its
// certificates are renewed after a minute each, so that all of this happens while they are renewed. Half of the clients keep their connections, the
// others make one for each request, and each reads what it is given again and again. What is under way when a member restarts may be cut off, and is
// asked for once more; no request fails twice, and one copy of each key explains all that they saw. A schedule archives every change meanwhile: at
// the end all that was written after its backup comes back, from before the first of it to after the last.

const LIFE = { provider: "Operator", duration: "10m", renewBefore: "9m" } as const;
const LIFE_MS = 600_000;
const NONE = { provider: "None", duration: null, renewBefore: null } as const;
const PLAINTEXT_FOR = { plaintextFor: "1m" } as const;
const AUTHORITIES = [peerAuthorityName("my-etcd"), clientAuthorityName("my-etcd")];
const LEAVES = [peerCertificateName, serverCertificateName, operatorCertificateName, applicationCertificateName].map((name) => name("my-etcd")); // biome-ignore format: one line
/** All members restart three times, on a busy machine. */
const SWITCHED_MS = 500_000;
/** They restart twice, and clients have two and a half minutes, twice. */
const ROTATED_MS = 800_000;
/** Renewed after a minute, and once more. */
const RENEWED_MS = 240_000;
const AUTH_MS = 120_000;
/** A pod starts, and what it stores is told. */
const ARCHIVED_MS = 180_000;
/** All that was written meanwhile is applied anew. */
const RESTORED_MS = 400_000;
/** Handshakes cost more than requests: as many as one of these clients makes in this time, in milliseconds. */
const EVERY_MS = 200;

let cluster: LoadedCluster;
/** Who the members are, which nothing of this changes. */
let ids: readonly (string | undefined)[];
/** What was written after each change of the cluster, and at which revision. */
const markers = new Map<string, number>();
/** The only backup, made before all of this. */
let backupName: string | undefined;
/** What applications are given. */
let given: ByClientSecret | undefined;

beforeAll(async () => {
  cluster = await LoadedCluster.start("tls-history", { load: { again: "once", anew: true, everyMs: EVERY_MS } });
  ids = await idsOf();
  await startArchive();
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

async function apply(kind: string, name: string, spec: object): Promise<void> {
  await make({ apiVersion: "etcd.improbable.io/v1beta1", kind, metadata: { name }, spec: { clusterName: cluster.name, ...spec } }); // biome-ignore format: one line
}

async function make(manifest: { metadata: object } & Record<string, unknown>): Promise<void> {
  const object = { ...manifest, metadata: { ...manifest.metadata, namespace: cluster.namespace } };
  await kubectl.run(["apply", "-f", "-"], { input: JSON.stringify(object) });
}

/** Every change is archived from now on, and a backup holds what was before. */
async function startArchive(): Promise<void> {
  await make({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "backups", labels: { [BACKUP_DESTINATION_LABEL]: "true" } },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  const backupTemplate = { source: { clusterName: cluster.name }, destination: { volume: { claimName: "backups" } } };
  await make({
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdBackupSchedule",
    metadata: { name: "yearly" },
    spec: { schedule: "0 0 1 1 *", archive: { maxAgeSeconds: 2 }, backupTemplate },
  });
  await eventually(async () => {
    const { archive, lastSuccessful } = await archived();
    const isCovered = BigInt(lastSuccessful?.revision ?? 0) >= BigInt(archive?.from ?? Number.MAX_SAFE_INTEGER) - 1n;
    expect(isCovered, JSON.stringify({ archive, lastSuccessful })).toBe(true);
    backupName = lastSuccessful?.name;
  }, ARCHIVED_MS);
}

async function archived() {
  const { status = {} } = await cluster.json<EtcdBackupSchedule>("get", "etcdbackupschedule", "yearly");
  return status as Partial<NonNullable<EtcdBackupSchedule["status"]>>;
}

/** Something new is written, and is to be stored: whatever has become of the cluster, the archive has followed. */
async function expectArchived(marker: string): Promise<void> {
  const text = await cluster.etcdctl("my-etcd-0", "put", marker, marker, "-w", "json");
  const { header } = JSON.parse(text) as { header: { revision: number } };
  markers.set(marker, header.revision);
  await eventually(async () => {
    const { archive } = await archived();
    expect(Number(archive?.revision ?? 0), JSON.stringify(archive)).toBeGreaterThanOrEqual(header.revision);
  }, ARCHIVED_MS);
}

test(
  "TLS comes, while clients go over to it",
  async () => {
    await unnoticed("to TLS", async () => {
      await cluster.patch({ tls: { peer: LIFE, client: { ...LIFE, ...PLAINTEXT_FOR } } });
      await until(servesBoth, SWITCHED_MS);
      given = await ByClientSecret.start(cluster);
      cluster.load.turnTo(given);
      await until(serves("https"), SWITCHED_MS);
    });
    await expectArchived("over-tls");
    await expectGoodCertificates(cluster, { lifeMs: LIFE_MS });
  },
  2 * SWITCHED_MS + 200_000,
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
    await expectArchived("other-authorities");
    await expectGoodCertificates(cluster, { lifeMs: LIFE_MS });
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
    await expectArchived("other-certificates");
    await expectGoodCertificates(cluster, { lifeMs: LIFE_MS });
  },
  RENEWED_MS + 200_000,
);

test(
  "users are asked for, and asked for no more",
  async () => {
    // By the common name of what the clients show.
    await apply("EtcdRole", "application", { permissions: [{ access: "ReadWrite", range: { from: "" } }] });
    await apply("EtcdUser", "application", {
      userName: applicationCertificateName(cluster.name),
      authentication: "Certificate",
      roles: ["application"],
    });
    await eventually(async () => {
      const { status } = await cluster.json<EtcdUser>("get", "etcduser", "application");
      expect(status?.conditions?.[0]?.reason).toBe("AuthDisabled");
    }, AUTH_MS);
    const asNobody = () => cluster.etcdctl("my-etcd-0", "get", "--prefix", "", "--keys-only");
    await unnoticed("to users", async () => {
      await cluster.patch({ auth: { enabled: true } });
      await cluster.untilCondition("AuthReady", "True", "AuthEnabled", AUTH_MS);
      await expect(asNobody()).rejects.toThrow(/user name|permission denied/);
    });
    await expectGoodCertificates(cluster, { lifeMs: LIFE_MS, users: ["application"] });
    await unnoticed("to no users", async () => {
      await cluster.patch({ auth: { enabled: false } });
      await cluster.untilCondition("AuthReady", "True", "AuthDisabled", AUTH_MS);
      await eventually(asNobody);
    });
    await expectGoodCertificates(cluster, { lifeMs: LIFE_MS, users: ["application"] });
  },
  5 * AUTH_MS + 300_000,
);

test(
  "TLS goes, while clients go back",
  async () => {
    await unnoticed("from TLS", async () => {
      await cluster.patch({ tls: { peer: NONE, client: { ...NONE, ...PLAINTEXT_FOR } } });
      await until(servesBoth, SWITCHED_MS);
      cluster.load.turnTo(inPlaintext(cluster));
      await until(serves("http"), SWITCHED_MS);
    });
    await expectArchived("in-plain-http");
  },
  2 * SWITCHED_MS + 200_000,
);

test("no acknowledged write is missing, and all members have the same data", async () => {
  await cluster.end();
});

test(
  "all that was written comes back from the archive, which has no gap",
  async () => {
    // Another backup would have been made for a gap.
    const { items } = await cluster.json<{ items: EtcdBackup[] }>("get", "etcdbackups");
    const backups = items.filter(({ spec }) => spec.archive === undefined);
    expect(backups.map(({ metadata }) => metadata.name)).toEqual([backupName]);
    const until = { revision: String(Math.max(...markers.values())) };
    await make({
      apiVersion: "etcd.improbable.io/v1beta1",
      kind: "EtcdRestore",
      metadata: { name: "back" },
      spec: {
        source: { backupName },
        until,
        clusterTemplate: { clusterName: "again", spec: { replicas: 1, tls: NO_TLS } },
      },
    });
    await eventually(async () => {
      const { status } = await cluster.json<EtcdRestore>("get", "etcdrestore", "back");
      expect(status?.phase, JSON.stringify(status)).toBe("Completed");
    }, RESTORED_MS);
    const again = new UserCluster(cluster.namespace, "again");
    await again.untilReady();
    expect(markers.size).toBe(4);
    for (const marker of markers.keys()) expect(await again.read("again-0", marker)).toBe(marker);
  },
  RESTORED_MS + 200_000,
);
