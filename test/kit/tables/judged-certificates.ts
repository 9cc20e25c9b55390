import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import {
  applicationCertificateName,
  bindingName,
  CERTIFICATE_FILE,
  clientAuthorityName,
  headlessServiceName,
  KEY_FILE,
  operatorCertificateName,
  peerAuthorityName,
  peerCertificateName,
  peerHost,
  peerName,
  serverCertificateName,
  TRUST_FILE,
} from "#api/names.ts";
import { isPair } from "#certificates/pem.ts";
import type { UserCluster } from "#kit/e2e/e2e.ts";
import { serviceHost } from "#kit/e2e/reach.ts";
import { expectAuthority, isGood, isGoodFor, openssl, PURPOSES, type Purpose } from "#kit/etcd/openssl.ts";
import type { KubeList, Secret } from "#kube/kinds.ts";
import { foundIn } from "./needles.ts";

// Checks with openssl, independently of the operator's code, the certificates that the operator has issued for a
// cluster.

/** Expected properties of a certificate. */
interface Expected {
  readonly name: string;
  /** The Secret of the CA that has signed it. */
  readonly by: string;
  readonly purposes: readonly Purpose[];
  readonly hosts: readonly string[];
}

/** A name and an address of no member or Service of the cluster. */
export const STRANGERS = ["my-etcd-client.elsewhere.svc", "192.0.2.99"];

/**
 * Checks every Secret of the cluster with a certificate:
 * - The key belongs to the certificate.
 * - The certificate is valid now, on curve P-256, and for no longer than requested.
 * - It is good for its own purposes and host names, and for no others.
 * - Its own CA verifies it, and the other CA does not. Must not run during a CA rotation.
 * @param given.lifeMs the requested lifetime of certificates, in milliseconds; `users`: EtcdUsers with a certificate;
 * `extraNames`: further names of members
 */
export async function expectGoodCertificates(
  cluster: UserCluster,
  {
    lifeMs,
    users = [],
    extraNames = [],
  }: { lifeMs: number; users?: readonly string[]; extraNames?: readonly string[] },
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "judged-"));
  try {
    const secrets = await certificateSecrets(cluster);
    const authorities = [peerAuthorityName(cluster.name), clientAuthorityName(cluster.name)];
    const expected = expectedOf(cluster, users, extraNames);
    expect([...secrets.keys()].sort()).toEqual([...authorities, ...expected.map(({ name }) => name)].sort());
    for (const [name, texts] of secrets) {
      await writeFile(join(folder, name), texts[CERTIFICATE_FILE] ?? "");
      await writeFile(join(folder, `${name}.trusts`), texts[TRUST_FILE] ?? "");
    }
    for (const name of authorities) await expectAuthority(join(folder, name));
    await expectKeptApart(cluster, authorities);
    for (const each of expected) {
      const texts = secrets.get(each.name) ?? {};
      expect(
        isPair(texts[CERTIFICATE_FILE] ?? "", texts[KEY_FILE] ?? ""),
        `the key of ${each.name} belongs to its certificate`,
      ).toBe(true);
      await expectLeaf(folder, each, authorities, lifeMs);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

function expectedOf(
  { namespace, name }: UserCluster,
  users: readonly string[],
  extraNames: readonly string[],
): readonly Expected[] {
  const [peers, clients] = [peerAuthorityName(name), clientAuthorityName(name)];
  const members = Array.from({ length: 3 }, (_, n) => peerHost(namespace, name, peerName(name, n)));
  const onlyClient = { by: clients, purposes: ["sslclient"], hosts: [] } as const;
  const services = [serviceHost({ namespace, name }), `${headlessServiceName(name)}.${namespace}.svc.cluster.local`];
  return [
    { name: peerCertificateName(name), by: peers, purposes: PURPOSES, hosts: members },
    {
      name: serverCertificateName(name),
      by: clients,
      purposes: PURPOSES,
      hosts: [...members, ...services, "localhost", ...extraNames],
    },
    { name: operatorCertificateName(name), ...onlyClient },
    { name: applicationCertificateName(name), ...onlyClient },
    ...users.map((user) => ({ name: bindingName(user), ...onlyClient })),
  ];
}

/** Checks that a CA's key is in the CA's own Secret and in no other Secret of the namespace. */
async function expectKeptApart(cluster: UserCluster, authorities: readonly string[]): Promise<void> {
  const { items } = await cluster.json<KubeList<Secret>>("get", "secrets");
  const held = items.map(({ metadata: { name }, data = {} }) => {
    const texts = Object.values(data).map((text) => Buffer.from(text, "base64").toString());
    return { name, text: texts.join("\n") };
  });
  for (const name of authorities) {
    const { data } = items.find(({ metadata }) => metadata.name === name) ?? {};
    const key = Buffer.from(data?.[KEY_FILE] ?? "", "base64").toString();
    const holders = held.filter(({ text }) => foundIn(text, [key]).length > 0);
    expect(
      holders.map((holder) => holder.name),
      `Secrets with the key of ${name}`,
    ).toEqual([name]);
  }
}

/** The texts of all Secrets of the namespace that have a certificate, by Secret name. */
export async function certificateSecrets(
  cluster: UserCluster,
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  const { items } = await cluster.json<KubeList<Secret>>("get", "secrets");
  const decoded = (text: string) => Buffer.from(text, "base64").toString();
  return new Map(
    items.flatMap(({ metadata, data = {} }) => {
      const texts = Object.entries(data).map(([key, text]) => [key, decoded(text)] as const);
      return CERTIFICATE_FILE in data ? [[metadata.name, Object.fromEntries(texts)] as const] : [];
    }),
  );
}

async function expectLeaf(
  folder: string,
  { name, by, purposes, hosts }: Expected,
  authorities: readonly string[],
  lifeMs: number,
): Promise<void> {
  const path = join(folder, name);
  const told = await openssl("x509", "-in", path, "-noout", "-text");
  expect(told, name).toContain("NIST CURVE: P-256");
  expect(told, name).toContain("CA:FALSE");
  const ends = Date.parse((await openssl("x509", "-in", path, "-noout", "-enddate")).trim().replace("notAfter=", ""));
  expect(ends - Date.now(), `${name} is valid for no longer than requested`).toBeLessThanOrEqual(lifeMs);
  for (const purpose of PURPOSES) {
    const isMeant = purposes.includes(purpose);
    expect(await isGood(path, join(folder, by), "-purpose", purpose), `${name} ${purpose}`).toBe(isMeant);
    expect(await isGood(path, `${path}.trusts`, "-purpose", purpose), `${name} ${purpose}`).toBe(isMeant);
  }
  for (const other of authorities.filter((each) => each !== by))
    expect(await isGood(path, join(folder, other)), `${name} by ${other}`).toBe(false);
  for (const host of hosts) expect(await isGoodFor(host, path, join(folder, by)), `${name} ${host}`).toBe(true);
  for (const stranger of hosts.length > 0 ? STRANGERS : [])
    expect(await isGoodFor(stranger, path, join(folder, by)), `${name} ${stranger}`).toBe(false);
}
