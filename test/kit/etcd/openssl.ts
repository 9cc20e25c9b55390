import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { run } from "#dev/run.ts";

// Checks of certificates with openssl, independent of the operator's code.

export type Purpose = "sslserver" | "sslclient";
export const PURPOSES: readonly Purpose[] = ["sslserver", "sslclient"];

export async function openssl(...args: readonly string[]): Promise<string> {
  return (await run("openssl", args)).stdout;
}

/** Whether openssl accepts the certificate under strict rules, if only this CA is trusted. */
export async function isGood(leaf: string, trusted: string, ...more: readonly string[]): Promise<boolean> {
  const args = ["verify", "-x509_strict", ...more, "-CAfile", trusted, leaf];
  const { code, stdout } = await run("openssl", args, { mayFail: true });
  return code === 0 && stdout.includes("OK");
}

/** Whether openssl accepts the certificate for this host name or IP address, too. */
export async function isGoodFor(host: string, leaf: string, trusted: string, ...more: readonly string[]) {
  return await isGood(leaf, trusted, isIP(host) === 0 ? "-verify_hostname" : "-verify_ip", host, ...more);
}

/** @param path of the file with the CA's certificate */
export async function expectAuthority(path: string): Promise<void> {
  const told = await openssl("x509", "-in", path, "-noout", "-text");
  expect(told).toContain("CA:TRUE");
  expect(told).toContain("NIST CURVE: P-256");
  expect(await isGood(path, path)).toBe(true);
}

/**
 * Checks the certificate served at a port of this machine. A client that trusts only this CA accepts it under this name
 * and no other. It is for servers and not clients, on curve P-256, and no CA.
 * @param ca in PEM
 */
export async function expectGoodServing(port: number, host: string, ca: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "served-"));
  try {
    const [trusted, leaf] = [join(folder, "ca"), join(folder, "leaf")];
    await writeFile(trusted, ca);
    await expectAuthority(trusted);
    const asked = await shownAt(port, host, trusted);
    expect(asked).toContain("Verify return code: 0 (ok)");
    expect(await shownAt(port, host, trusted, "elsewhere.svc")).toMatch(/ostname mismatch/);
    await writeFile(leaf, /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/.exec(asked)?.[0] ?? "");
    const told = await openssl("x509", "-in", leaf, "-noout", "-text");
    expect(told).toContain("NIST CURVE: P-256");
    expect(told).toContain("CA:FALSE");
    for (const purpose of PURPOSES)
      expect(await isGood(leaf, trusted, "-purpose", purpose), purpose).toBe(purpose === "sslserver");
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * The full output of openssl about a handshake.
 * @param expected the name that must be in the certificate
 */
async function shownAt(port: number, host: string, trusted: string, expected = host): Promise<string> {
  const to = ["-connect", `127.0.0.1:${port}`, "-servername", host];
  const args = ["s_client", ...to, "-CAfile", trusted, "-x509_strict", "-verify_hostname", expected];
  const { stdout, stderr } = await run("openssl", args, { mayFail: true });
  return stdout + stderr;
}
