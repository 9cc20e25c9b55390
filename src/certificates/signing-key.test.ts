import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { writtenNames } from "#certificates/der.ts";
import { factsOf } from "#certificates/facts.ts";
import { authorityKeyOf, type KeyPair, parsedIn } from "#certificates/pem.ts";
import { isSignedBy } from "#certificates/trust.ts";
import { authority, dataOf, leaf, secretOf } from "#kit/snapshots/certificates.ts";

// CAs made with openssl. Their names, keys and identifiers differ from the operator's.

const dir = mkdtempSync(join(tmpdir(), "signing-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const P256 = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
const P384 = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"];

/** @param key openssl options that choose the kind of key @param more extensions */
function makeCA(key: readonly string[] = P256, ...more: readonly string[]): KeyPair {
  const [certificate, keyFile] = [join(dir, "ca.crt"), join(dir, "ca.key")];
  const extensions = ["keyUsage=critical,keyCertSign,cRLSign", ...more].flatMap((each) => ["-addext", each]);
  const named = ["-subj", "/O=Corp Ltd/CN=corp CA", "-days", "3650", "-nodes"];
  const args = ["req", "-x509", ...key, ...named, ...extensions, "-keyout", keyFile, "-out", certificate];
  execFileSync("openssl", args, { stdio: "ignore" });
  return { certificate: readFileSync(certificate, "utf8"), key: readFileSync(keyFile, "utf8") };
}

const parsed = ({ certificate }: KeyPair) => parsedIn(certificate)[0]!;
const problemOf = (pair: KeyPair, more: Readonly<Record<string, string>> = {}) =>
  factsOf(secretOf("a", { ...dataOf(pair, pair.certificate), ...more }), "authority").trouble;
const own = await authority();

describe("a CA made by a user", () => {
  test.each([
    ["with a name in openssl's encoding, which is not the operator's", makeCA()],
    [
      "with a key identifier that is no hash of its key",
      makeCA(P256, "subjectKeyIdentifier=0102030405", "authorityKeyIdentifier=none"),
    ],
    ["with the usages serverAuth and clientAuth", makeCA(P256, "extendedKeyUsage=serverAuth,clientAuth")],
    ["with an Ed25519 key", makeCA(["-newkey", "ed25519"])],
    ["with an RSA key", makeCA(["-newkey", "rsa:2048"])],
    ["with an ECDSA key on P-384", makeCA(P384)],
    ["with an ECDSA key on P-521", makeCA(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-521"])],
    ["with the usage anyExtendedKeyUsage", makeCA(P256, "extendedKeyUsage=anyExtendedKeyUsage")],
  ])("issues certificates that it verifies when made %s", async (_, pair) => {
    expect(problemOf(pair)).toBeUndefined();
    const signed = parsed(await leaf(pair));
    expect(isSignedBy(signed, parsed(pair))).toBe(true);
    expect(writtenNames(signed).issuer).toEqual(writtenNames(parsed(pair)).subject);
  });

  test("may have its key in any PEM form", async () => {
    const pair = makeCA();
    writeFileSync(join(dir, "p8"), pair.key);
    const key = execFileSync("openssl", ["ec", "-in", join(dir, "p8")], { encoding: "utf8", stdio: "pipe" });
    expect(key).toContain("BEGIN EC PRIVATE KEY");
    expect(problemOf({ ...pair, key })).toBeUndefined();
    expect(isSignedBy(parsed(await leaf({ ...pair, key })), parsed(pair))).toBe(true);
  });

  test("issues with the first valid certificate of tls.crt, also after other text", async () => {
    const pair = makeCA();
    const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (const before of [pair.key, broken]) {
      const certificate = `${before}${pair.certificate}`;
      expect(
        factsOf(secretOf("a", dataOf({ ...pair, certificate }, certificate)), "authority").trouble,
      ).toBeUndefined();
      expect(isSignedBy(parsed(await leaf({ ...pair, certificate })), parsed(pair))).toBe(true);
    }
  });

  test("issues no certificate that would not verify", async () => {
    const other = await authority();
    await expect(leaf({ certificate: own.certificate, key: other.key })).rejects.toThrow(
      "verified by the CA that signed it",
    );
    await expect(leaf({ certificate: own.certificate, key: "x" })).rejects.toThrow("has a key to sign by");
  });
});

describe("a CA that the operator cannot sign with is reported for", () => {
  const ED448 = ["-newkey", "ed448"];
  const BRAINPOOL = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:brainpoolP256r1"];
  const KEYS = "it must be RSA of 2048 to 8192 bits, ECDSA on P-256, P-384 or P-521, or Ed25519";
  test.each([
    ["a short RSA key", makeCA(["-newkey", "rsa:1024"]), `its tls.key is an RSA key of 1024 bits; ${KEYS}`],
    ["an ECDSA key on another curve", makeCA(BRAINPOOL), `its tls.key is an ECDSA key on brainpoolP256r1; ${KEYS}`],
    ["an Ed448 key", makeCA(ED448), `its tls.key is a key of the kind ed448; ${KEYS}`],
    [
      "name constraints",
      makeCA(P256, "nameConstraints=critical,excluded;DNS:foo.svc"),
      "its tls.crt has name constraints; it must have none, since members have names such as localhost",
    ],
    [
      "the extended key usage emailProtection",
      makeCA(P256, "extendedKeyUsage=emailProtection"),
      "its tls.crt has an extended key usage; it must have none, or serverAuth and clientAuth",
    ],
    [
      "the extended key usage serverAuth without clientAuth",
      makeCA(P256, "extendedKeyUsage=serverAuth"),
      "its tls.crt has an extended key usage; it must have none, or serverAuth and clientAuth",
    ],
  ])("%s", (_, pair, trouble) => {
    expect(problemOf(pair)).toBe(trouble);
    const next = { "next.crt": pair.certificate, "next.key": pair.key };
    expect(problemOf(own, next)).toBe(trouble.replace("tls.", "next."));
    expect(factsOf(secretOf("a", { ...dataOf(pair, pair.certificate) }), "leaf").trouble).toBeUndefined();
  });
});

test("two CAs with the same name in different encodings are different CAs", async () => {
  const pair = makeCA();
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

test("a CA with the same key and another key identifier is a different CA, as for OpenSSL", async () => {
  const pair = makeCA();
  const kept = join(dir, "kept.key");
  writeFileSync(kept, pair.key);
  const [again, otherwise] = [makeCA(["-key", kept]), makeCA(["-key", kept], "subjectKeyIdentifier=0102030405")];
  const signed = parsed(await leaf(pair));
  expect([again, otherwise].map((each) => isSignedBy(signed, parsed(each)))).toEqual([true, false]);
  expect(authorityKeyOf(parsed(again))).toBe(authorityKeyOf(parsed(pair)));
  expect(authorityKeyOf(parsed(otherwise))).not.toBe(authorityKeyOf(parsed(pair)));
});
