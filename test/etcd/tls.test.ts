import "reflect-metadata"; // x509 needs it loaded first
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";
import { afterAll, beforeAll, describe, test } from "vitest";
import { hasCode } from "#base/error.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import { ETCD_VERSIONS, neverAborted, planEtcd, type RunningEtcd, until } from "#kit/etcd.ts";

const options: CallOptions = { signal: neverAborted };
const unavailable = (thrown: unknown) => hasCode(thrown, "EtcdUnavailable");
const SERVER_NAME = "db-0.db.prod.svc";

describe.each(ETCD_VERSIONS)("etcd %s over TLS with client certificates", (version) => {
  let etcd: RunningEtcd;
  let tls: TlsIdentity;
  let stranger: Authority;
  let endpoint: (change?: Partial<TlsIdentity>) => Endpoint;

  beforeAll(async () => {
    const authority = await newAuthority();
    stranger = await newAuthority();
    const server = await authority.issue(SERVER_NAME);
    tls = { ca: authority.pem, ...(await authority.issue("operator")), serverName: SERVER_NAME };
    etcd = await planEtcd({ version, members: 1 });
    const member = etcd.members[0]!;
    const address = member.endpoint.address;
    endpoint = (change = {}) => ({ address, tls: { ...tls, ...change } });
    await member.start({ initialCluster: etcd.initialCluster, state: "new" }, [
      `--listen-client-urls=https://${address}`,
      `--advertise-client-urls=https://${address}`,
      "--client-cert-auth",
      ...flagFiles(`${member.plan.dir}-tls`, {
        "trusted-ca-file": authority.pem,
        "cert-file": server.cert,
        "key-file": server.key,
      }),
    ]);
    await until("the member is ready", async () => (await member.httpStatus("/health")) === 200);
  });
  afterAll(() => etcd.stop());

  test("the member is reached at its IP address under its DNS name", async () => {
    assert.equal((await etcd.client.status(endpoint(), options)).version, version);
    const revision = await etcd.client.put(endpoint(), "k", "v", options);
    assert.equal((await etcd.client.get(endpoint(), "k", options))?.modRevision, revision);
  });

  test("two authorities may be trusted at once, as during a rotation", async () => {
    await etcd.client.status(endpoint({ ca: stranger.pem + tls.ca }), options);
  });

  test("a certificate for another name is not believed", async () => {
    await assert.rejects(etcd.client.status(endpoint({ serverName: "db-1.db.prod.svc" }), options), unavailable);
  });

  test("a certificate of another authority is not believed", async () => {
    await assert.rejects(etcd.client.status(endpoint({ ca: stranger.pem }), options), unavailable);
  });

  test("the member does not take our certificate from another authority", async () => {
    await assert.rejects(etcd.client.status(endpoint(await stranger.issue("operator")), options), unavailable);
  });

  test("without TLS there is no answer", async () => {
    const { address } = endpoint();
    await assert.rejects(etcd.client.status({ address }, { ...options, deadlineMs: 1_000 }), unavailable);
  });
});

interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

interface Authority {
  readonly pem: string;
  /** A certificate for servers and clients, for this DNS name. */
  issue(name: string): Promise<KeyPair>;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const SIGNING = ["sign", "verify"] as const;

async function newAuthority(): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, SIGNING);
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=test authority",
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    pem: `${authority.toString("pem")}\n`,
    async issue(name) {
      const own = await crypto.subtle.generateKey(ALGORITHM, true, SIGNING);
      const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
      const certificate = await x509.X509CertificateGenerator.create({
        subject: `CN=${name}`,
        issuer: authority.subject,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        publicKey: own.publicKey,
        extensions: [
          new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }]),
          new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
          // Without it OpenSSL, and so Node, takes the first of several authorities with the right name, and only that one.
          await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
        ],
      });
      const key = await crypto.subtle.exportKey("pkcs8", own.privateKey);
      return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
    },
  };
}

/** Writes one file per flag and gives the flags. */
function flagFiles(dir: string, files: Record<string, string>): string[] {
  mkdirSync(dir, { recursive: true });
  return Object.entries(files).map(([flag, content]) => {
    const file = join(dir, flag);
    writeFileSync(file, content);
    return `--${flag}=${file}`;
  });
}
