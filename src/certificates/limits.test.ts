import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { factsOf } from "#certificates/facts.ts";
import { keyIn, parsedIn } from "#certificates/pem.ts";
import { isSignedBy } from "#certificates/trust.ts";
import { certificateOf, der, ecCertificate, inPem, rsaCertificate, sequence } from "#kit/hostile/certificates.ts";
import { authority, dataOf, leaf, secretOf } from "#kit/snapshots/certificates.ts";

const ca = await authority();
const good = dataOf(await leaf(ca), ca.certificate);
const problemOf = (changed: Readonly<Record<string, string>>) =>
  factsOf(secretOf("a", { ...good, ...changed }), "leaf").trouble;
/** Certificates of so many CAs, each with a unique name. */
const others = (count: number) =>
  Array.from({ length: count }, (_, n) => inPem(certificateOf({ issuer: `CA ${n}`, subject: `CA ${n}` }))).join("");
/** Pads the PEM text with a preamble, which PEM allows, to so many bytes. */
const filled = (pem: string, bytes: number) => `${"x".repeat(bytes - pem.length - 1)}\n${pem}`;

describe("a Secret has limits of size:", () => {
  test.each([
    ["ca.crt may have 256 KiB", { "ca.crt": filled(ca.certificate, 262_144) }, undefined],
    [
      "ca.crt may not have more than 256 KiB",
      { "ca.crt": filled(ca.certificate, 262_145) },
      "its ca.crt is 262145 bytes long; it may have at most 262144",
    ],
    ["ca.crt may have 256 certificates", { "ca.crt": ca.certificate + others(255) }, undefined],
    [
      "ca.crt may not have 257 certificates",
      { "ca.crt": ca.certificate + others(256) },
      "its ca.crt has 257 certificates; it may have at most 256",
    ],
    ["tls.crt may have 16 certificates", { "tls.crt": good["tls.crt"] + others(15) }, undefined],
    [
      "tls.crt may not have 17 certificates",
      { "tls.crt": good["tls.crt"] + others(16) },
      "its tls.crt has 17 certificates; it may have at most 16",
    ],
    [
      "tls.crt may not have more than 256 KiB",
      { "tls.crt": filled(good["tls.crt"] ?? "", 300_000) },
      "its tls.crt is 300000 bytes long; it may have at most 262144",
    ],
    [
      "next.crt may not have more than 256 KiB",
      { "next.crt": "x".repeat(300_000) },
      "its next.crt is 300000 bytes long; it may have at most 262144",
    ],
    ["tls.key may have 16 KiB", { "tls.key": filled(good["tls.key"] ?? "", 16_384) }, undefined],
    [
      "tls.key may not have more than 16 KiB",
      { "tls.key": filled(good["tls.key"] ?? "", 16_385) },
      "its tls.key is 16385 bytes long; it may have at most 16384",
    ],
    [
      "next.key may not have more than 16 KiB",
      { "next.key": "x".repeat(20_000) },
      "its next.key is 20000 bytes long; it may have at most 16384",
    ],
  ])("%s", (_, changed, trouble) => {
    expect(problemOf(changed as Record<string, string>)).toBe(trouble);
  });

  test("a certificate may not have more than 16 KiB", () => {
    const long = inPem(certificateOf({ subject: "x".repeat(17_000) }));
    expect(problemOf({ "ca.crt": ca.certificate + long })).toMatch(
      /^its ca\.crt has a certificate of about 17\d+ bytes; a certificate may have at most 16384$/,
    );
  });

  test("a Secret over a limit has no facts", () => {
    const facts = factsOf(secretOf("a", { ...good, "ca.crt": filled(ca.certificate, 300_000) }), "leaf");
    expect(facts).toMatchObject({ trust: "", trustIds: [], fingerprint: "", signerId: undefined, names: [] });
    expect(facts.commonName).toBeUndefined();
  });

  test("the name of an issuer is cut off after 256 characters", () => {
    const certificate = inPem(certificateOf({ issuer: "x".repeat(1_000) }));
    expect(factsOf(secretOf("a", { ...good, "tls.crt": certificate }), "leaf").issuerName).toHaveLength(256);
  });
});

describe("signature checks have limits:", () => {
  const names = (issuer: string, count: number) =>
    Array.from({ length: count }, () => inPem(certificateOf({ issuer, subject: "CA" }))).join("");
  test.each([
    ["32 CAs of one name are allowed for two certificates that they may have signed", 32, 2, false],
    ["33 CAs of one name are refused for two certificates that they may have signed", 33, 2, true],
  ])("%s", (_, authorities, shown, isRefused) => {
    // Each certificate of the chain has the CAs' name, too, unless the row gives it its own.
    const chain = Array.from({ length: shown }, (__, n) =>
      inPem(certificateOf({ issuer: "CA", subject: `shown ${n}` })),
    ).join("");
    const trouble = problemOf({ "tls.crt": chain, "ca.crt": names("CA", authorities) });
    expect(trouble?.includes("too many certificates of one name")).toBe(isRefused);
    if (isRefused)
      expect(trouble).toBe(
        "its ca.crt and tls.crt have too many certificates of one name: 66 signatures would have to be checked; the limit is 64",
      );
  });

  test("a certificate that occurs several times counts once", () => {
    expect(problemOf({ "ca.crt": ca.certificate.repeat(200) })).toBeUndefined();
    expect(factsOf(secretOf("a", { ...good, "ca.crt": ca.certificate.repeat(3) }), "leaf").trust).toBe(ca.certificate);
  });

  test.each([
    ["an RSA key of 8192 bits is allowed", rsaCertificate(8_192, 17), undefined],
    [
      "an RSA key of 8193 bits is refused in tls.crt",
      rsaCertificate(8_193, 17),
      "its tls.crt has a certificate with an RSA key of 8193 bits; it may have at most 8192",
    ],
    ["an RSA exponent of 31 bits is allowed", rsaCertificate(2_048, 31), undefined],
    [
      "an RSA exponent of 32 bits is refused in tls.crt",
      rsaCertificate(2_048, 32),
      "its tls.crt has a certificate with an RSA key with an exponent of 32 bits; it may have at most 31",
    ],
    ["an ECDSA key on a named curve is allowed", ecCertificate(), undefined],
    [
      "an ECDSA key on an unnamed curve is refused in tls.crt",
      ecCertificate("explicit"),
      "its tls.crt has a certificate with an ECDSA key on a curve without a name; it may be on a named curve, such as P-256",
    ],
    [
      "a key of an unknown kind is allowed",
      certificateOf({ publicKey: Buffer.from("300c300506032b657f0303000102", "hex") }),
      undefined,
    ],
  ])("%s", (_, certificate, trouble) => {
    expect(problemOf({ "tls.crt": good["tls.crt"] + inPem(certificate) })).toBe(trouble);
    // In ca.crt it signed nothing, and costs nothing.
    expect(problemOf({ "ca.crt": ca.certificate + inPem(certificate) })).toBeUndefined();
  });

  test("next.crt has the same limits as tls.crt", () => {
    const trouble = "its tls.crt has a certificate with an RSA key of 9000 bits; it may have at most 8192";
    expect(problemOf({ "tls.crt": good["tls.crt"] + inPem(rsaCertificate(9_000, 17)) })).toBe(trouble);
    expect(problemOf({ "next.crt": inPem(rsaCertificate(9_000, 17)) })).toBe(trouble);
  });

  test("a certificate of a CA with a DSA key counts as unsigned, because etcd rejects such keys", () => {
    const { publicKey, privateKey } = generateKeyPairSync("dsa", { modulusLength: 1_024, divisorLength: 160 });
    const spki = publicKey.export({ type: "spki", format: "der" });
    const [own] = parsedIn(inPem(certificateOf({ publicKey: spki, dsa: privateKey })));
    expect(own?.verify(own.publicKey)).toBe(true);
    expect(own && isSignedBy(own, own)).toBe(false);
  });
});

describe("a key", () => {
  const forms = [
    ["PKCS #8, RSA", "rsa", "pkcs8"],
    ["PKCS #1, RSA", "rsa", "pkcs1"],
    ["PKCS #8, ECDSA", "ec", "pkcs8"],
    ["SEC 1, ECDSA", "ec", "sec1"],
    ["PKCS #8, Ed25519", "ed25519", "pkcs8"],
    ["PKCS #8, Ed448", "ed448", "pkcs8"],
  ] as const;
  test.each(forms)("is read as %s, also after other text", (_, kind, type) => {
    const options = { modulusLength: 2_048, namedCurve: "P-256" };
    const { privateKey } = generateKeyPairSync(kind as "ec", options as { namedCurve: string });
    const pem = privateKey.export({ type: type as "pkcs8", format: "pem" }) as string;
    for (const text of [pem, `words\n${ca.certificate}${pem}`, pem.replaceAll("\n", "\r\n")])
      expect(keyIn(text)?.equals(privateKey)).toBe(true);
  });

  test("is not read in any other form", () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
    const encrypted = privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "a" });
    expect(createPrivateKey(pem).asymmetricKeyType).toBe("ec");
    for (const text of [
      "",
      "x",
      String(encrypted),
      pem.replace("-----END PRIVATE KEY-----", ""),
      pem.replace("-----END PRIVATE KEY-----", "-----END EC PRIVATE KEY-----"),
      pem.replaceAll("PRIVATE KEY", "DSA PRIVATE KEY"),
      pem.replace("\n", "\n-"),
      pem.replace("\n", "\n_"),
      inPem(Buffer.alloc(0), "PRIVATE KEY"),
      inPem(sequence(der(0x02, Buffer.from([0]))), "PRIVATE KEY"),
      "-----BEGIN ",
      "-----BEGIN PRIVATE KEY",
      "-----BEGIN PRIVATE KEY-----",
    ])
      expect(keyIn(text), text).toBeUndefined();
  });

  test("is found after other blocks", () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
    const parameters = inPem(Buffer.from("06082a8648ce3d030107", "hex"), "EC PARAMETERS");
    expect(keyIn(parameters + pem)?.equals(privateKey)).toBe(true);
  });
});
