import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { writtenNames } from "#certificates/der.ts";
import { factsOf } from "#certificates/facts.ts";
import { authorityKeyOf, type KeyPair, parsedIn } from "#certificates/pem.ts";
import { isSignedBy } from "#certificates/trust.ts";
import { authority, dataOf, leaf, secretOf } from "#kit/certificates.ts";

// Authorities as people make them: with openssl, whose names, keys and identifiers are other ones than the operator's.

const dir = mkdtempSync(join(tmpdir(), "signing-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const P256 = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
const P384 = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"];

/** @param key what tells openssl of which kind its key is @param more extensions */
function brought(key: readonly string[] = P256, ...more: readonly string[]): KeyPair {
  const [certificate, keyFile] = [join(dir, "ca.crt"), join(dir, "ca.key")];
  const extensions = ["keyUsage=critical,keyCertSign,cRLSign", ...more].flatMap((each) => ["-addext", each]);
  const named = ["-subj", "/O=Corp Ltd/CN=corp CA", "-days", "3650", "-nodes"];
  const args = ["req", "-x509", ...key, ...named, ...extensions, "-keyout", keyFile, "-out", certificate];
  execFileSync("openssl", args, { stdio: "ignore" });
  return { certificate: readFileSync(certificate, "utf8"), key: readFileSync(keyFile, "utf8") };
}

const parsed = ({ certificate }: KeyPair) => parsedIn(certificate)[0]!;
const troubleOf = (pair: KeyPair, more: Readonly<Record<string, string>> = {}) =>
  factsOf(secretOf("a", { ...dataOf(pair, pair.certificate), ...more }), "authority").trouble;
const own = await authority();

describe("by an authority that people have made", () => {
  test.each([
    ["as openssl writes its name, which is not how the operator would", brought()],
    [
      "whose identifier is no hash of its key",
      brought(P256, "subjectKeyIdentifier=0102030405", "authorityKeyIdentifier=none"),
    ],
    ["that is for servers and clients alone", brought(P256, "extendedKeyUsage=serverAuth,clientAuth")],
    ["with an Ed25519 key", brought(["-newkey", "ed25519"])],
    ["that is for any use", brought(P256, "extendedKeyUsage=anyExtendedKeyUsage")],
  ])("is signed what etcd believes: one %s", async (_, pair) => {
    expect(troubleOf(pair)).toBeUndefined();
    const signed = parsed(await leaf(pair));
    expect(isSignedBy(signed, parsed(pair))).toBe(true);
    expect(writtenNames(signed).issuer).toEqual(writtenNames(parsed(pair)).subject);
  });

  test("is signed whatever PEM its key is in", async () => {
    const pair = brought();
    writeFileSync(join(dir, "p8"), pair.key);
    const key = execFileSync("openssl", ["ec", "-in", join(dir, "p8")], { encoding: "utf8", stdio: "pipe" });
    expect(key).toContain("BEGIN EC PRIVATE KEY");
    expect(troubleOf({ ...pair, key })).toBeUndefined();
    expect(isSignedBy(parsed(await leaf({ ...pair, key })), parsed(pair))).toBe(true);
  });

  test("is signed by the certificate that was judged, whatever stands before it", async () => {
    const pair = brought();
    const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (const before of [pair.key, broken]) {
      const certificate = `${before}${pair.certificate}`;
      expect(
        factsOf(secretOf("a", dataOf({ ...pair, certificate }, certificate)), "authority").trouble,
      ).toBeUndefined();
      expect(isSignedBy(parsed(await leaf({ ...pair, certificate })), parsed(pair))).toBe(true);
    }
  });

  test("nothing is stored that nobody would believe", async () => {
    const other = await authority();
    await expect(leaf({ certificate: own.certificate, key: other.key })).rejects.toThrow("believed by who trusts it");
    await expect(leaf({ certificate: own.certificate, key: "x" })).rejects.toThrow("has a key to sign by");
  });
});

describe("an authority by which the operator cannot sign is told before", () => {
  const ED448 = ["-newkey", "ed448"];
  test.each([
    [
      "RSA",
      brought(["-newkey", "rsa:2048"]),
      "its tls.key is an RSA key of 2048 bits; it must be an ECDSA key on P-256, or an Ed25519 key",
    ],
    [
      "P-384",
      brought(P384),
      "its tls.key is an ECDSA key on secp384r1; it must be an ECDSA key on P-256, or an Ed25519 key",
    ],
    [
      "Ed448",
      brought(ED448),
      "its tls.key is a key of the kind ed448; it must be an ECDSA key on P-256, or an Ed25519 key",
    ],
    [
      "name constraints",
      brought(P256, "nameConstraints=critical,excluded;DNS:foo.svc"),
      "its tls.crt has name constraints; it must have none, since members have names such as localhost",
    ],
    [
      "another use",
      brought(P256, "extendedKeyUsage=emailProtection"),
      "its tls.crt has an extended key usage; it must have none, or serverAuth and clientAuth",
    ],
    [
      "half of the uses",
      brought(P256, "extendedKeyUsage=serverAuth"),
      "its tls.crt has an extended key usage; it must have none, or serverAuth and clientAuth",
    ],
  ])("%s", (_, pair, trouble) => {
    expect(troubleOf(pair)).toBe(trouble);
    const next = { "next.crt": pair.certificate, "next.key": pair.key };
    expect(troubleOf(own, next)).toBe(trouble.replace("tls.", "next."));
    expect(factsOf(secretOf("a", { ...dataOf(pair, pair.certificate) }), "leaf").trouble).toBeUndefined();
  });
});

test("one name that is written in two ways is two names to etcd", async () => {
  const pair = brought();
  const certificate = parsed(pair);
  const { subject } = writtenNames(certificate);
  expect(subject.includes(Buffer.from("corp CA"))).toBe(true);
  // UTF8String, and PrintableString.
  const at = certificate.raw.lastIndexOf(subject);
  const raw = Buffer.from(certificate.raw);
  raw[raw.indexOf(Buffer.from("corp CA"), at) - 2] = 0x13;
  const other = parsedIn(`-----BEGIN CERTIFICATE-----\n${raw.toString("base64")}\n-----END CERTIFICATE-----\n`)[0]!;
  expect(other.subject).toBe(certificate.subject);
  expect(authorityKeyOf(other)).not.toBe(authorityKeyOf(certificate));
  expect(isSignedBy(parsed(await leaf(pair)), other)).toBe(false);
});

test("one key that is called otherwise by another tool is another authority: who verifies with OpenSSL does not believe by it what was signed before", async () => {
  const pair = brought();
  const kept = join(dir, "kept.key");
  writeFileSync(kept, pair.key);
  const [again, otherwise] = [brought(["-key", kept]), brought(["-key", kept], "subjectKeyIdentifier=0102030405")];
  const signed = parsed(await leaf(pair));
  expect([again, otherwise].map((each) => isSignedBy(signed, parsed(each)))).toEqual([true, false]);
  expect(authorityKeyOf(parsed(again))).toBe(authorityKeyOf(parsed(pair)));
  expect(authorityKeyOf(parsed(otherwise))).not.toBe(authorityKeyOf(parsed(pair)));
});
