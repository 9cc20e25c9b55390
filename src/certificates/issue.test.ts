import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { isAddress, wantedNames } from "#certificates/names.ts";
import { authority, DAY_MS, leaf, NOW_MS } from "#kit/snapshots/certificates.ts";

// Issued certificates are checked with an independent implementation: openssl.

const dir = mkdtempSync(join(tmpdir(), "issue-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

function openssl(...args: string[]): string {
  return execFileSync("openssl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

const ca = await authority();
const other = await authority();
const server = await leaf(ca, { names: wantedNames("foo", "my-etcd", ["etcd.example.com"]) });
const at = ["-attime", String(NOW_MS / 1_000)];
const caFile = file("ca.crt", ca.certificate);
const bundle = file("bundle.crt", other.certificate + ca.certificate);
const serverFile = file("server.crt", server.certificate);

describe("openssl", () => {
  test("verifies an issued certificate with its CA, for each of its purposes and names", () => {
    for (const trusted of [caFile, bundle])
      for (const purpose of ["sslserver", "sslclient"])
        for (const host of ["my-etcd-12.my-etcd.foo.svc", "my-etcd-client.foo.svc", "localhost", "etcd.example.com"]) {
          const flags = ["-x509_strict", ...at, "-purpose", purpose, "-verify_hostname", host, "-CAfile", trusted];
          expect(openssl("verify", ...flags, serverFile)).toContain("OK");
        }
    expect(openssl("verify", ...at, "-verify_ip", "::1", "-CAfile", caFile, serverFile)).toContain("OK");
  });

  const refused: { name: string; flags: string[] }[] = [
    { name: "another CA", flags: ["-CAfile", file("other.crt", other.certificate), ...at] },
    { name: "another name", flags: ["-CAfile", caFile, ...at, "-verify_hostname", "my-etcd-0.other.foo.svc"] },
    { name: "a time after its end", flags: ["-CAfile", caFile, "-attime", String((NOW_MS + 91 * DAY_MS) / 1_000)] },
    {
      name: "a time before its beginning",
      flags: ["-CAfile", caFile, "-attime", String((NOW_MS - 2 * DAY_MS) / 1_000)],
    },
  ];
  test.each(refused)("rejects an issued certificate for $name", ({ flags }) => {
    expect(() => openssl("verify", ...flags, serverFile)).toThrow(/verification failed/);
  });

  test("reads the expected fields: no subject, critical alternative names, not a CA, P-256", () => {
    const text = openssl("x509", "-in", serverFile, "-noout", "-text");
    expect(text).toMatch(/Subject: *\n/);
    expect(text).toMatch(/X509v3 Subject Alternative Name: critical/);
    expect(text).toContain("CA:FALSE");
    expect(text).toContain("TLS Web Server Authentication, TLS Web Client Authentication");
    expect(text).toContain("prime256v1");
    const own = openssl("x509", "-in", caFile, "-noout", "-text");
    expect(own).toContain("CA:TRUE, pathlen:0");
    expect(own).toMatch(/Certificate Sign, CRL Sign/);
    expect(own).toMatch(/Subject: CN ?= ?my-etcd peer CA [0-9a-f]{12}/);
  });

  test("verifies an issued certificate with a bundle of two CAs of the same name", () => {
    expect(openssl("verify", "-x509_strict", ...at, "-CAfile", bundle, serverFile)).toContain("OK");
  });
});

test("an issued certificate expires no later than its CA", async () => {
  const text = file("long.crt", (await leaf(ca, { untilMs: NOW_MS + 9_999 * DAY_MS })).certificate);
  const ends = [text, caFile].map((path) => openssl("x509", "-in", path, "-noout", "-enddate"));
  expect(ends[0]).toBe(ends[1]);
});

test("a client certificate has its common name and no alternative names", async () => {
  const text = file(
    "client.crt",
    (await leaf(ca, { commonName: "etcd-cluster-operator", usages: ["clientAuth"], names: [] })).certificate,
  );
  const printed = openssl("x509", "-in", text, "-noout", "-text");
  expect(printed).toMatch(/Subject: CN ?= ?etcd-cluster-operator/);
  expect(printed).not.toContain("Server Authentication");
  expect(printed).not.toContain("Alternative Name");
  expect(() => openssl("verify", ...at, "-purpose", "sslserver", "-CAfile", caFile, text)).toThrow();
});

test("isAddress distinguishes IP addresses from names", () => {
  expect(["::1", "10.0.0.1"].map(isAddress)).toEqual([true, true]);
  expect(["localhost", "10.0.0.1.example", "a-1.b"].map(isAddress)).toEqual([false, false, false]);
});
