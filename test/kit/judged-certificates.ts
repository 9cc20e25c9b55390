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
import type { UserCluster } from "#kit/e2e.ts";
import { foundIn } from "#kit/needles.ts";
import { expectAuthority, isGood, isGoodFor, openssl, PURPOSES, type Purpose } from "#kit/openssl.ts";
import { serviceHost } from "#kit/reach.ts";
import type { KubeList, Secret } from "#kube/kinds.ts";

// What the operator has issued for a cluster is judged by somebody else's code: openssl's.

/** What is expected of a certificate. */
interface Expected {
  readonly name: string;
  /** The Secret of the authority that has signed it. */
  readonly by: string;
  readonly purposes: readonly Purpose[];
  readonly hosts: readonly string[];
}

/** Under which names and addresses nobody of the cluster is reached. */
export const STRANGERS = ["my-etcd-client.elsewhere.svc", "192.0.2.99"];

/**
 * Of each Secret of the cluster with a certificate: it holds a pair; the certificate is good now, on the curve P-256, for no longer than it was asked
 * for, for what it is there for and for nothing else, under the names by which it is reached; and its own authority vouches for it, and the other one
 * does not. To be asked while no authority follows another one.
 * @param given.lifeMs for how long certificates were asked for, in milliseconds; `users`: EtcdUsers that have one; `extraNames`: by which
 * members are reached besides
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
      expect(isPair(texts[CERTIFICATE_FILE] ?? "", texts[KEY_FILE] ?? ""), `${each.name} is a pair`).toBe(true);
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

/** The key of an authority stands in its own Secret, and in no other one of the namespace, whoever that belongs to. */
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
      `who holds the key of ${name}`,
    ).toEqual([name]);
  }
}

/** What the Secrets of the namespace hold that have a certificate, by their names. */
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
  expect(ends - Date.now(), `${name} lasts no longer than it should`).toBeLessThanOrEqual(lifeMs);
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
