import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { CERTIFICATE_FILE, KEY_FILE, TRUST_FILE } from "#api/names.ts";
import { isPair } from "#certificates/pem.ts";
import type { UserCluster } from "#kit/e2e/e2e.ts";
import { secretTexts } from "#kit/e2e/user-tls.ts";
import { isGood, isGoodFor, openssl, type Purpose } from "#kit/etcd/openssl.ts";
import type { Certificate } from "#kube/kinds.ts";
import { STRANGERS } from "./judged-certificates.ts";

const USES: Readonly<Record<Purpose, string>> = { sslserver: "server auth", sslclient: "client auth" };

/**
 * Checks with openssl that cert-manager has issued what each Certificate requests: a matching key, and a chain that the
 * CA verifies.
 */
export async function expectIssuedAsAsked(cluster: UserCluster, requests: readonly Certificate[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "issued-"));
  try {
    for (const request of requests) await expectIssued(cluster, request, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function expectIssued(cluster: UserCluster, { metadata: { name }, spec }: Certificate, folder: string) {
  const texts = await secretTexts(cluster, name);
  const [leaf, trusted] = [join(folder, name), join(folder, `${name}.trusts`)];
  await writeFile(leaf, texts[CERTIFICATE_FILE] ?? "");
  await writeFile(trusted, texts[TRUST_FILE] ?? "");
  expect(
    isPair(texts[CERTIFICATE_FILE] ?? "", texts[KEY_FILE] ?? ""),
    `the key of ${name} belongs to its certificate`,
  ).toBe(true);
  expect(await openssl("x509", "-in", leaf, "-noout", "-text"), name).toContain("NIST CURVE: P-256");
  for (const [purpose, use] of Object.entries(USES)) {
    const isAsked = spec?.usages?.includes(use as never) === true;
    expect(await isGood(leaf, trusted, "-untrusted", leaf, "-purpose", purpose), `${name} ${purpose}`).toBe(isAsked);
  }
  const hosts = [...(spec?.dnsNames ?? []), ...(spec?.ipAddresses ?? [])];
  for (const host of hosts)
    expect(await isGoodFor(host, leaf, trusted, "-untrusted", leaf), `${name} ${host}`).toBe(true);
  for (const stranger of hosts.length > 0 ? STRANGERS : [])
    expect(await isGoodFor(stranger, leaf, trusted, "-untrusted", leaf), `${name} ${stranger}`).toBe(false);
}
