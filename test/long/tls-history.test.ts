import { afterAll, beforeAll, expect, test } from "vitest";
import {
  applicationCertificateName,
  CERTIFICATE_FILE,
  clientAuthorityName,
  operatorCertificateName,
  peerAuthorityName,
  peerCertificateName,
  ROTATE_CA_ANNOTATION,
  serverCertificateName,
  TRUST_FILE,
} from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { certificatesIn } from "#certificates/pem.ts";
import { ByClientSecret } from "#kit/client-secret.ts";
import { eventually, kubectl } from "#kit/e2e.ts";
import { certificateSecrets, expectGoodCertificates } from "#kit/judged-certificates.ts";
import { expectPromised, LoadedCluster } from "#kit/loaded-cluster.ts";
import { inPlaintext } from "#kit/reach.ts";

// A cluster without TLS comes to it, to other authorities, to users, and all the way back, while clients write and read without pause. Its
// certificates are renewed after a minute each, so that all of this happens while they are renewed. Half of the clients keep their connections, the
// others make one for each request, and each reads what it is given again and again. What is under way when a member restarts may be cut off, and is
// asked for once more; no request fails twice, and one copy of each key explains all that they saw.

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
/** Handshakes cost more than requests: as many as one of these clients makes in this time, in milliseconds. */
const EVERY_MS = 200;

let cluster: LoadedCluster;
/** Who the members are, which nothing of this changes. */
let ids: readonly (string | undefined)[];
/** What applications are given. */
let given: ByClientSecret | undefined;

beforeAll(async () => {
  cluster = await LoadedCluster.start("tls-history", { load: { again: "once", anew: true, everyMs: EVERY_MS } });
  ids = await idsOf();
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
  const object = { apiVersion: "etcd.improbable.io/v1beta1", kind, metadata: { namespace: cluster.namespace, name }, spec: { clusterName: cluster.name, ...spec } }; // biome-ignore format: one line
  await kubectl.run(["apply", "-f", "-"], { input: JSON.stringify(object) });
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
  },
  2 * SWITCHED_MS + 200_000,
);

test("no acknowledged write is missing, and all members have the same data", async () => {
  await cluster.end();
});
