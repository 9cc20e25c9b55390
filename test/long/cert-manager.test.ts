import { X509Certificate } from "node:crypto";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { mainBinary } from "#dev/components.ts";
import { run } from "#dev/run.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { killOperator } from "#kit/e2e/loaded-cluster.ts";
import { allShown, lives, MEMBERS, secretTexts } from "#kit/e2e/user-tls.ts";
import { CertManager, createIssuers, type Issuers, renew, requestsOf } from "#kit/servers/cert-manager.ts";
import { credentialsDir } from "#kit/servers/store-server.ts";
import { expectIssuedAsAsked } from "#kit/tables/judged-requests.ts";
import type { Certificate, Secret } from "#kube/kinds.ts";

// A real cert-manager issues certificates for a cluster. An Issuer in the namespace signs for peers, and a
// ClusterIssuer with an intermediate CA signs for clients.

/**
 * cert-manager issues, the kubelet updates files within a minute or two, and the operator checks what it copies; on a
 * busy machine.
 */
const RENEWED_MS = 400_000;
/**
 * The shortest life that cert-manager allows: the operator checks certificates that end within an hour once a minute.
 */
const LIFE = { duration: "1h", renewBefore: "20m" } as const;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let manager: CertManager;
let issuers: Issuers;
let requests: readonly Certificate[];

beforeAll(async () => {
  namespace = await testNamespace("cert-manager");
  cluster = new UserCluster(namespace.name);
  manager = await CertManager.install(namespace.name);
  issuers = await createIssuers(cluster);
  await cluster.create({
    replicas: 3,
    tls: {
      peer: { provider: "CertManager", certManager: { issuerRef: issuers.company }, ...LIFE },
      client: { provider: "CertManager", certManager: { issuerRef: issuers.everywhere }, ...LIFE },
    },
    auth: { enabled: true },
  });
});
afterAll(async () => {
  await namespace?.[Symbol.asyncDispose]();
  await manager?.[Symbol.asyncDispose]();
});

/** Finds a Certificate of the cluster by the start of its name. @returns its full name */
function requestFor(own: string): string {
  return requests.find(({ metadata }) => metadata.name.startsWith(own))?.metadata.name ?? "";
}

function fingerprintOf(pem: string | undefined): string {
  return new X509Certificate(pem ?? "").fingerprint256;
}

describe("a cluster with certificates from cert-manager from the start", () => {
  test("is ready, and its certificates are valid", async () => {
    await cluster.untilReady(180_000);
    await cluster.untilCondition("TLSReady", "True", "CertificatesValid");
    requests = await requestsOf(cluster);
    expect(requests.map(({ metadata }) => metadata.name.replace(/-[0-9a-f]{8}$/, ""))).toEqual([
      "my-etcd-client",
      "my-etcd-operator-tls",
      "my-etcd-peer-tls",
      "my-etcd-server-tls",
    ]);
    await expectIssuedAsAsked(cluster, requests);
  });

  test("gets certificates with the requested keys, usages, names and lifetime from cert-manager", async () => {
    const bits = { "server auth": "1.3.6.1.5.5.7.3.1", "client auth": "1.3.6.1.5.5.7.3.2" }; // biome-ignore format: one line
    for (const { metadata, spec, status } of requests) {
      expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
      const shown = new X509Certificate((await secretTexts(cluster, metadata.name))["tls.crt"] ?? "");
      expect(shown.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: "prime256v1" });
      const uses = (spec?.usages ?? []).filter((use) => use.endsWith("auth"));
      expect([...shown.keyUsage].sort()).toEqual(uses.map((use) => bits[use as keyof typeof bits]).sort());
      for (const name of spec?.dnsNames ?? []) expect(shown.subjectAltName).toContain(`DNS:${name}`);
      expect(shown.validToDate.getTime() - shown.validFromDate.getTime()).toBe(3_600_000);
    }
    // The ClusterIssuer's intermediate CA comes along in a chain; clients must trust the root that has signed it.
    const server = await secretTexts(cluster, requestFor("my-etcd-server-tls"));
    expect(server["tls.crt"]?.match(/BEGIN/g)).toHaveLength(2);
    const roots = await secretTexts(cluster, "company");
    expect(fingerprintOf(server["ca.crt"])).toBe(fingerprintOf(roots["tls.crt"]));
  });

  test("has CertificateRequests that cert-manager has approved", async () => {
    const { items } = await cluster.json<{ items: Certificate[] }>("get", "certificaterequests.cert-manager.io"); // biome-ignore format: one line
    for (const { metadata } of requests) {
      const asked = items.filter((each) => each.metadata.name.startsWith(`${metadata.name}-`));
      expect(asked.length).toBeGreaterThan(0);
      for (const { status } of asked)
        expect(status?.conditions).toContainEqual(
          expect.objectContaining({ type: "Approved", status: "True", reason: "cert-manager.io" }),
        );
    }
  });

  test("serves the certificates, and the application certificate is copied into the client Secret", async () => {
    const shown = await allShown(cluster, requestFor("my-etcd-peer-tls"));
    const [peer, server] = [
      fingerprintOf((await secretTexts(cluster, requestFor("my-etcd-peer-tls")))["tls.crt"]),
      fingerprintOf((await secretTexts(cluster, requestFor("my-etcd-server-tls")))["tls.crt"]),
    ];
    for (const member of MEMBERS) {
      expect(shown.get(`${member}:2379`)?.fingerprint).toBe(server);
      expect(shown.get(`${member}:2380`)?.fingerprint).toBe(peer);
    }
    const given = await secretTexts(cluster, "my-etcd-client");
    const issued = await secretTexts(cluster, requestFor("my-etcd-client-"));
    expect(given["tls.crt"]).toBe(issued["tls.crt"]);
    expect(given.endpoints).toBe(`https://my-etcd-client.${namespace.name}.svc:2379`);
  });
});

describe("an EtcdUser", () => {
  test("logs in with a certificate from cert-manager, and reads its own keys only", async () => {
    const of = { clusterRef: { name: "my-etcd" } };
    const api = { apiVersion: "etcd.improbable.io/v1beta1", metadata: { name: "billing" } };
    await cluster.apply({
      ...api,
      kind: "EtcdRole",
      spec: { ...of, permissions: [{ access: "ReadWrite", prefix: "billing/" }] },
    });
    await cluster.apply({
      ...api,
      kind: "EtcdUser",
      spec: { ...of, roles: ["billing"], authentication: { type: "Certificate" } },
    });
    await cluster.untilCondition("AuthReady", "True", "AuthEnabled", 120_000);
    await untilBound();
    const binding = await secretTexts(cluster, "billing-binding");
    expect(new X509Certificate(binding["tls.crt"] ?? "").subject).toBe("CN=billing");
    await expectIssuedAsAsked(cluster, [await cluster.json<Certificate>("get", "certificates.cert-manager.io", "billing-binding-tls")]); // biome-ignore format: one line
    expect(binding["tls.crt"]).toBe((await secretTexts(cluster, "billing-binding-tls"))["tls.crt"]);
    expect(await asBilling("put", "billing/a", "1")).toBe("OK");
    await expect(asBilling("get", "orders/a")).rejects.toThrow("permission denied");
  });
});

async function untilBound(): Promise<void> {
  await eventually(async () => {
    const { status } = await cluster.json<EtcdUser>("get", "etcduser", "billing");
    expect(status?.conditions?.[0]?.reason, status?.conditions?.[0]?.message).toBe("Bound");
  }, 120_000);
}

/** Runs etcdctl with the current binding Secret of the EtcdUser. */
async function asBilling(...args: readonly string[]): Promise<string> {
  const files = credentialsDir(await secretTexts(cluster, "billing-binding"));
  const flags = [["cacert", "ca.crt"], ["cert", "tls.crt"], ["key", "tls.key"]].map(([flag, file = ""]) => `--${flag}=${join(files, file)}`); // biome-ignore format: one line
  const at = `--endpoints=https://my-etcd-client.${namespace.name}.svc.cluster.local:2379`;
  const program = join(dirname(mainBinary("etcd-3.6.16")), "etcdctl");
  return (await run(program, [at, ...flags, ...args])).stdout.trim();
}

describe("a renewed certificate", () => {
  test(
    "is served by every member without a restart, and is written into the Secrets of applications and users",
    async () => {
      const before = { lives: await lives(cluster), shown: await shownNow(), billing: await pairOf("billing-binding") };
      for (const name of [...requests.map(({ metadata }) => metadata.name), "billing-binding-tls"])
        await renew(cluster, name);
      await eventually(async () => {
        const issued = await pairOf(requestFor("my-etcd-client-"));
        expect(issued).not.toBe(before.shown.get("application"));
        expect(await pairOf("my-etcd-client")).toBe(issued);
        for (const [where, fingerprint] of await shownNow())
          expect(fingerprint, where).not.toBe(before.shown.get(where));
        expect(await pairOf("billing-binding")).not.toBe(before.billing);
      }, RENEWED_MS);
      expect(await asBilling("put", "billing/a", "2")).toBe("OK");
      expect(await lives(cluster)).toEqual(before.lives);
      await cluster.untilCondition("TLSReady", "True", "CertificatesValid");
    },
    RENEWED_MS + 60_000,
  );

  test(
    "with additional names is served by every member without a restart",
    async () => {
      const before = await lives(cluster);
      await cluster.patch({ tls: { client: { extraNames: ["etcd.example.com", "192.0.2.7"] } } });
      await eventually(async () => {
        const { "tls.crt": pem = "" } = await secretTexts(cluster, requestFor("my-etcd-server-tls"));
        expect(new X509Certificate(pem).subjectAltName).toContain("DNS:etcd.example.com");
        // Kubelets update files one after the other; the next test compares what members serve.
        for (const [where, fingerprint] of await shownNow())
          if (where.endsWith(":2379")) expect(fingerprint, where).toBe(fingerprintOf(pem));
      }, RENEWED_MS);
      await expectIssuedAsAsked(cluster, await requestsOf(cluster));
      expect(await lives(cluster)).toEqual(before);
      await cluster.untilReady();
    },
    RENEWED_MS + 60_000,
  );
});

/** Fingerprints of the certificates that members serve and applications have. */
async function shownNow(): Promise<ReadonlyMap<string, string>> {
  const shown = await allShown(cluster, requestFor("my-etcd-peer-tls"));
  const all = [...shown].map(([where, { fingerprint }]) => [where, fingerprint] as const);
  return new Map([...all, ["application", await pairOf("my-etcd-client")]]);
}

/** Fingerprint of the certificate in a Secret. */
async function pairOf(secretName: string): Promise<string> {
  return fingerprintOf((await secretTexts(cluster, secretName))["tls.crt"]);
}

describe("without a working issuer", () => {
  test(
    "a deleted issuer is reported, the cluster keeps running, and renewal continues with the recreated issuer",
    async () => {
      const peer = requestFor("my-etcd-peer-tls");
      const before = { lives: await lives(cluster), shown: await shownNow() };
      await cluster.kubectl("delete", "issuer.cert-manager.io", "company");
      await renew(cluster, peer, 10 * 60_000);
      // A running operator checks this every few minutes, but a starting one at once.
      await killOperator();
      await untilTold(`Secret ${peer} is not renewed: cert-manager reports: `);
      await cluster.untilReady();
      expect(await shownNow()).toEqual(before.shown);
      expect(await asBilling("put", "billing/a", "3")).toBe("OK");
      expect(await lives(cluster)).toEqual(before.lives);

      await createIssuers(cluster);
      await eventually(async () => {
        const { "tls.crt": pem } = await secretTexts(cluster, peer);
        expect(fingerprintOf(pem)).not.toBe(before.shown.get("my-etcd-0:2380"));
        expect((await shownNow()).get("my-etcd-0:2380")).toBe(fingerprintOf(pem));
        expect(await told()).not.toContain("is not renewed");
      }, RENEWED_MS);
      expect(await lives(cluster)).toEqual(before.lives);
    },
    2 * RENEWED_MS,
  );

  test("the refusal of an issuer is reported with its message when there is no certificate yet", async () => {
    const refused = new UserCluster(namespace.name, "refused");
    const issuerRef = { name: "elsewhere", kind: "Issuer", group: "example.com" };
    await refused.create({ replicas: 1, tls: { peer: { provider: "CertManager", certManager: { issuerRef } }, client: { provider: "None" } } }); // biome-ignore format: one line
    await refused.untilCondition("TLSReady", "False", "CertificatesPending");
    // No controller implements this issuer: the test does, as cert-manager specifies for external issuers.
    const request = await eventually(async () => {
      const { items } = await cluster.json<{ items: Certificate[] }>("get", "certificaterequests.cert-manager.io");
      const found = items.find(({ metadata }) => metadata.name.startsWith("refused-peer-tls"));
      if (found === undefined) throw new Error("there is no request yet");
      return found;
    });
    const now = new Date().toISOString();
    const failed = { type: "Ready", status: "False", reason: "Failed", message: "no member of the company", lastTransitionTime: now }; // biome-ignore format: a condition
    const status = { conditions: [...(request.status?.conditions ?? []), failed], failureTime: now };
    await cluster.kubectl("patch", "certificaterequests.cert-manager.io", request.metadata.name, "--subresource=status", "--type=merge", "-p", JSON.stringify({ status })); // biome-ignore format: a command
    const { status: told } = await refused.untilCondition("TLSReady", "False", "IssuerFailed");
    expect(told?.conditions?.find(({ type }) => type === "TLSReady")?.message).toContain("no member of the company");
    await refused.kubectl("delete", "etcdcluster", "refused");
  });

  test(
    "an untrusted CA key is reported without a restart, and TLSReady is True with the previous key",
    async () => {
      const peer = requestFor("my-etcd-peer-tls");
      const before = await lives(cluster);
      const { data, type } = await cluster.json<Secret>("get", "secret", "company");
      // Without privateKey.rotationPolicy, cert-manager makes a new key at each renewal.
      await renew(cluster, "company");
      await eventually(async () =>
        expect((await cluster.json<Secret>("get", "secret", "company")).data).not.toEqual(data),
      );
      await renew(cluster, peer);
      await cluster.untilCondition("TLSReady", "False", "CertificateInvalid", 180_000);
      expect(await told()).toMatch(/signed by a CA that my-etcd-0, my-etcd-1, my-etcd-2 do not trust yet/);
      await asBilling("put", "billing/a", "4");

      // Otherwise cert-manager would at once issue another CA for its Certificate.
      await cluster.kubectl("delete", "certificate.cert-manager.io", "company");
      await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: { name: "company" }, type, data });
      const untrusted = await pairOf(peer);
      await renew(cluster, peer);
      await eventually(async () => expect(await pairOf(peer)).not.toBe(untrusted));
      await cluster.untilCondition("TLSReady", "True", "CertificatesValid", 180_000);
      await cluster.untilReady();
      await asBilling("put", "billing/a", "5");
      expect(await lives(cluster)).toEqual(before);
    },
    2 * RENEWED_MS,
  );

  test("cert-manager's webhook refuses requests that the operator never makes", async () => {
    const wrong = { ...requests[0], metadata: { namespace: namespace.name, name: "wrong" } };
    const { spec } = wrong;
    await expect(cluster.apply({ ...wrong, spec: { ...spec, duration: "30m", renewBefore: "20m" } })).rejects.toThrow(
      /1h0m0s/,
    );
    await expect(cluster.apply({ ...wrong, spec: { ...spec, commonName: "a".repeat(65) } })).rejects.toThrow(/64/);
  });
});

/** The message of TLSReady. */
async function told(): Promise<string> {
  const { status } = await cluster.get();
  return status?.conditions?.find(({ type }) => type === "TLSReady")?.message ?? "";
}

async function untilTold(text: string): Promise<void> {
  await eventually(async () => expect(await told()).toContain(text), 120_000);
}

test("Certificates are deleted with their cluster, and the Secrets that cert-manager wrote remain", async () => {
  await cluster.kubectl("delete", "etcdcluster", "my-etcd");
  await eventually(async () => expect(await requestsOf(cluster)).toEqual([]), 120_000);
  for (const { metadata } of requests) await secretTexts(cluster, metadata.name);
});
