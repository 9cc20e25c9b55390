import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { commonNameIn } from "#certificates/common-name.ts";
import { factsOf, type Kind } from "#certificates/facts.ts";
import { Keyring } from "#certificates/keyring.ts";
import { authorityKeyOf, certificatesIn, isPair, keyIn, parsedIn } from "#certificates/pem.ts";
import { namerOf } from "#certificates/trust.ts";
import {
  certificateOf,
  der,
  ecCertificate,
  inPem,
  integer,
  oid,
  rsaCertificate,
  sequence,
} from "#kit/hostile/certificates.ts";
import { cpuMsOf, MAX_BLOCKED_MS } from "#kit/hostile/cost.ts";
import { mutations } from "#kit/hostile/mutations.ts";
import { authority, dataOf, leaf, secretOf } from "#kit/snapshots/certificates.ts";
import type { Secret } from "#kube/kinds.ts";
import { bindingFactsOf } from "#user/facts.ts";

// Secrets filled by a tenant: the tenant chooses the content, up to the API server's limit of 1 MiB.

const MIB = 1_000_000;
const ca = await authority();
const pair = await leaf(ca);
const good = dataOf(pair, ca.certificate);
const KINDS: readonly Kind[] = ["leaf", "authority"];

/** Every function of the operator that parses a Secret. */
const READS: readonly ((secret: Secret) => unknown)[] = [
  ...KINDS.map((kind) => (secret: Secret) => factsOf(secret, kind)),
  bindingFactsOf,
];

function readAll(secret: Secret): void {
  for (const read of READS) read(secret);
}

/** Certificates that fill a Secret. All have the same name, and none has signed another. */
const many = (bytes: number, make: () => Buffer): string => {
  const one = inPem(make());
  const different = Array.from({ length: Math.min(1_500, Math.floor(bytes / one.length)) }, () => inPem(make()));
  return different.join("");
};

const SAN = oid("0603551d11");
const deep = (levels: number): Buffer => {
  let inner = oid("0500");
  for (let level = 0; level < levels; level++) inner = der(0x30, inner);
  return inner;
};
const sans = (count: number): Buffer =>
  sequence(
    SAN,
    der(0x04, sequence(Buffer.concat(Array.from({ length: count }, (_, n) => der(0x82, Buffer.from(`a${n}`)))))),
  );
const pkcs8 = (kind: string, parameters: Buffer, key: Buffer) =>
  inPem(sequence(oid("020100"), sequence(oid(kind), parameters), der(0x04, key)), "PRIVATE KEY");
/** OpenSSL computes the public half of such a key: 24 s for 15 kB without a bound, and minutes for more. */
const dsaKey = (bits: number) =>
  pkcs8("06072a8648ce380401", sequence(integer(bits), integer(256), integer(bits)), integer(bits - 8));
const dhKey = (bits: number) =>
  pkcs8("06092a864886f70d010301", sequence(integer(bits), oid("020102")), integer(bits - 8));

describe("reading a Secret blocks the event loop for less than 200 ms", () => {
  const sources: readonly [string, () => Record<string, string>][] = [
    [
      "ca.crt of 1 MB, with every certificate named as the issuer",
      () => ({ "ca.crt": many(MIB, ecCertificate), "tls.crt": many(20_000, ecCertificate) }),
    ],
    [
      "ca.crt and tls.crt of 500 kB each",
      () => ({ "ca.crt": many(MIB / 2, ecCertificate), "tls.crt": many(MIB / 2, ecCertificate) }),
    ],
    [
      "256 CAs and a chain of 16 certificates, the most that is read",
      () => {
        const names = (n: number) => ({ issuer: `CA ${n % 4}`, subject: `CA ${n % 64}` });
        const all = (count: number) => Array.from({ length: count }, (_, n) => inPem(certificateOf(names(n)))).join("");
        return { "ca.crt": all(256), "tls.crt": all(16) };
      },
    ],
    [
      "as many signature checks as possible, with the most expensive keys",
      () => {
        const make = () => inPem(rsaCertificate(8_192, 31));
        return { "ca.crt": Array.from({ length: 60 }, make).join(""), "tls.crt": make() };
      },
    ],
    ["RSA keys of 16384 bits", () => ({ "ca.crt": many(100_000, () => rsaCertificate(16_384, 64)) })],
    ["RSA keys with an exponent of 3072 bits", () => ({ "ca.crt": many(200_000, () => rsaCertificate(3_072, 3_072)) })],
    ["an RSA key of a million bits", () => ({ "tls.crt": inPem(rsaCertificate(MIB, 17)) })],
    ["elliptic curves with explicit parameters", () => ({ "ca.crt": many(200_000, () => ecCertificate("explicit")) })],
    ["100 000 names in one certificate", () => ({ "tls.crt": inPem(certificateOf({ extensions: [sans(100_000)] })) })],
    [
      "DER nested 20 000 levels deep",
      () => ({
        "tls.crt": inPem(certificateOf({ extensions: [sequence(SAN, der(0x04, deep(20_000)))] })),
      }),
    ],
    [
      "DER nested as deep as the longest certificate allows",
      () => ({
        "tls.crt": inPem(certificateOf({ extensions: [sequence(SAN, der(0x04, deep(3_500)))] })),
      }),
    ],
    ["a certificate subject of 700 kB", () => ({ "tls.crt": inPem(certificateOf({ subject: "x".repeat(700_000) })) })],
    ["PEM certificates without an end line", () => ({ "ca.crt": "-----BEGIN CERTIFICATE-----\n".repeat(35_000) })],
    ["PEM keys without an end line", () => ({ "tls.key": "-----BEGIN PRIVATE KEY-----".repeat(600) })],
    ["a DSA key of 20 000 bits", () => ({ "tls.key": dsaKey(20_000) })],
    ["a DSA key of 100 000 bits", () => ({ "tls.key": dsaKey(100_000) })],
    ["a DH key of 10 000 bits", () => ({ "tls.key": dhKey(10_000) })],
    ["tls.key of 1 MB", () => ({ "tls.key": "x".repeat(MIB) })],
    ["a password of 1 MB", () => ({ password: "x".repeat(MIB) })],
    ["a Secret of 40 000 keys", () => Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`k${n}`, ""]))],
  ];
  test.each(sources)("%s", async (_, texts) => {
    const secret = secretOf("a", { ...good, ...texts() });
    readAll(secretOf("warm", good));
    for (const read of READS) expect(await cpuMsOf(() => read(secret))).toBeLessThan(MAX_BLOCKED_MS);
  });

  test("finding the issuer in a bundle of 256 CAs takes less than 50 ms", async () => {
    const bundle = Array.from({ length: 256 }, (_, n) => inPem(certificateOf({ subject: `CA ${n}` }))).join("");
    const facts = factsOf(secretOf("a", { ...good, "ca.crt": bundle }), "leaf");
    expect(facts.trustIds).toHaveLength(256);
    // A plan calls this about a dozen times.
    const ask = () => namerOf({ signerId: facts.trustIds[255], trust: facts.trust })(facts.trust);
    ask();
    expect(await cpuMsOf(ask)).toBeLessThan(MAX_BLOCKED_MS / 4);
  });

  test("from a binding Secret of 40 000 keys or 1 MB only the fields that the operator reads stay in memory", () => {
    const keys = Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`k${n}`, ""]));
    expect(Object.keys(bindingFactsOf(secretOf("a", { ...good, ...keys })).texts).toSorted()).toEqual([
      "ca.crt",
      "tls.crt",
    ]);
    const facts = bindingFactsOf(secretOf("a", { ...good, password: "secret", other: "x".repeat(MIB) }));
    expect(Object.keys(facts.texts).toSorted()).toEqual(["ca.crt", "tls.crt"]);
    expect(facts).toMatchObject({ hasPassword: true, certificate: { trouble: undefined } });
  });
});

describe("reading mutated PEM data throws no error and is fast:", () => {
  const SEED = 20_261_128;
  const CASES = 400;
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey;
  const ders = [certificateOf(), ecCertificate(), rsaCertificate(2_048, 17), certificateOf({ extensions: [sans(20)] })];
  const keys: readonly (readonly [string, Buffer])[] = [
    ["PRIVATE KEY", ec.export({ type: "pkcs8", format: "der" })],
    ["EC PRIVATE KEY", ec.export({ type: "sec1", format: "der" })],
    ["PRIVATE KEY", rsa.export({ type: "pkcs8", format: "der" })],
    ["RSA PRIVATE KEY", rsa.export({ type: "pkcs1", format: "der" })],
  ];

  /** Runs the readers. An error or too much time is reported with the seed and the case. */
  async function survives(what: string, input: string, read: () => unknown): Promise<void> {
    let ms = 0;
    try {
      ms = await cpuMsOf(read);
    } catch (thrown) {
      throw new Error(`seed ${SEED}: ${what}: ${String(thrown)}\n${input}`);
    }
    if (ms >= MAX_BLOCKED_MS) throw new Error(`seed ${SEED}: ${what} took ${ms} ms\n${input}`);
  }

  test.each(ders.map((each, n) => [n, each] as const))("certificate %i", async (n, original) => {
    for (const [index, mutated] of mutations(original, SEED + n, CASES).entries()) {
      const pem = inPem(mutated);
      await survives(`case ${index}`, pem, () => {
        readAll(secretOf("a", { ...good, "tls.crt": pem, "ca.crt": pem + ca.certificate }));
        readAll(secretOf("a", { ...good, "ca.crt": pem, "next.crt": pem, "next.key": pair.key }));
        for (const each of parsedIn(pem)) authorityKeyOf(each);
        commonNameIn(pem);
        new Keyring().learn({ namespace: "a", name: "b" }, secretOf("a", { ...good, "ca.crt": pem }));
      });
    }
  });

  test.each(keys)("%s", async (label, original) => {
    for (const [index, mutated] of mutations(original, SEED, CASES).entries()) {
      const pem = inPem(mutated, label);
      await survives(`case ${index}`, pem, () => {
        keyIn(pem);
        isPair(pair.certificate, pem);
        readAll(secretOf("a", { ...good, "tls.key": pem }));
      });
    }
  });

  test("a certificate and a key, including their PEM lines", async () => {
    const original = Buffer.from(pair.certificate + pair.key + ca.certificate);
    for (const [index, mutated] of mutations(original, SEED, CASES).entries()) {
      const pem = mutated.toString("latin1");
      await survives(`case ${index}`, pem, () => {
        certificatesIn(pem);
        keyIn(pem);
        readAll(secretOf("a", { "tls.crt": pem, "tls.key": pem, "ca.crt": pem }));
      });
    }
  });
});
