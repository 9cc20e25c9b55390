import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import type { Issuer } from "#certificates/issue.ts";
import { isAddress } from "#certificates/names.ts";
import type { KeyPair } from "#certificates/pem.ts";
import { parsedIn } from "#certificates/pem.ts";

// Quickly made certificates for simulations that run a thousand times. They are real X.509, which the operator's own
// code reads.
//
// Keys are derived from a number, and Ed25519 signatures are deterministic: the same history has the same certificates.

/** DER: a tag, the length, and the content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), body]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), body]);
}

const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
const octets = (body: Uint8Array) => der(0x04, body);
const TRUE = der(0x01, Buffer.from([0xff]));

/** An object identifier with small numbers after the second. */
function oid(...numbers: readonly number[]): Buffer {
  const [first = 0, second = 0, ...rest] = numbers;
  return der(0x06, Buffer.from([first * 40 + second, ...rest]));
}

const ED25519 = sequence(oid(1, 3, 101, 112));
const PKIX_KEY_USE = [1, 3, 6, 1, 5, 5, 7, 3] as const;
const USES = { serverAuth: oid(...PKIX_KEY_USE, 1), clientAuth: oid(...PKIX_KEY_USE, 2) } as const;

function extension(id: Buffer, value: Buffer, isCritical = false): Buffer {
  return sequence(id, ...(isCritical ? [TRUE] : []), octets(value));
}

function nameOf(commonName: string | undefined): Buffer {
  if (commonName === undefined) return sequence();
  return sequence(der(0x31, sequence(oid(2, 5, 4, 3), der(0x0c, Buffer.from(commonName)))));
}

/** UTCTime, which ends in 2049. */
function timeOf(ms: number): Buffer {
  return der(0x17, Buffer.from(`${new Date(ms).toISOString().replaceAll(/[-:T]/g, "").slice(2, 14)}Z`));
}

function alternative(name: string): Buffer {
  if (!isAddress(name)) return der(0x82, Buffer.from(name));
  const bytes = name === "::1" ? [...Array<number>(15).fill(0), 1] : name.split(".").map(Number);
  return der(0x87, Buffer.from(bytes));
}

/** The private key of this number. */
function keyOf(number: number): KeyObject {
  const seed = createHash("sha256").update(`key ${number}`).digest();
  const der8 = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  return createPrivateKey({ key: der8, format: "der", type: "pkcs8" });
}

interface Certified {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly extensions: readonly Buffer[];
}

/** Makes certificates one after another, each with a new key. */
export class QuickIssuer implements Issuer {
  #number = 0;

  newAuthority: Issuer["newAuthority"] = (commonName, { fromMs, untilMs }) => {
    const key = this.#newKey();
    const name = nameOf(`${commonName} ${this.#number}`);
    const extensions = [
      extension(oid(2, 5, 29, 19), sequence(TRUE, der(0x02, Buffer.from([0]))), true),
      extension(oid(2, 5, 29, 15), der(0x03, Buffer.from([1, 0x06])), true),
    ];
    return Promise.resolve(this.#signed(key, key, { issuer: name, subject: name, fromMs, untilMs, extensions }));
  };

  newLeaf: Issuer["newLeaf"] = (authority, { commonName, names, usages, fromMs, untilMs }) => {
    const [signer] = parsedIn(authority.certificate);
    if (signer === undefined) return Promise.reject(new Error("the CA has no certificate"));
    const names2 = extension(oid(2, 5, 29, 17), sequence(...names.map(alternative)), commonName === undefined);
    const extensions = [
      extension(oid(2, 5, 29, 19), sequence(), true),
      extension(oid(2, 5, 29, 15), der(0x03, Buffer.from([7, 0x80])), true),
      extension(oid(2, 5, 29, 37), sequence(...usages.map((usage) => USES[usage]))),
      ...(names.length === 0 ? [] : [names2]),
    ];
    const pair = this.#signed(this.#newKey(), createPrivateKey(authority.key), {
      issuer: nameOf(signer.subject.replace(/^CN=/, "")),
      subject: nameOf(commonName),
      fromMs,
      untilMs: Math.min(untilMs, signer.validToDate.getTime()),
      extensions,
    });
    return Promise.resolve(pair);
  };

  #newKey(): KeyObject {
    this.#number += 1;
    return keyOf(this.#number);
  }

  #signed(own: KeyObject, signing: KeyObject, { issuer, subject, fromMs, untilMs, extensions }: Certified): KeyPair {
    const publicKey = createPublicKey(own).export({ type: "spki", format: "der" });
    const body = sequence(
      der(0xa0, der(0x02, Buffer.from([2]))),
      der(0x02, Buffer.from([0x40, this.#number >> 8, this.#number & 0xff])),
      ED25519,
      issuer,
      sequence(timeOf(fromMs), timeOf(untilMs)),
      subject,
      publicKey,
      der(0xa3, sequence(...extensions)),
    );
    const certificate = sequence(
      body,
      ED25519,
      der(0x03, Buffer.concat([Buffer.from([0]), sign(null, body, signing)])),
    );
    return {
      certificate: inPem(certificate, "CERTIFICATE"),
      key: inPem(own.export({ type: "pkcs8", format: "der" }), "PRIVATE KEY"),
    };
  }
}

function inPem(body: Buffer, label: string): string {
  const lines = body.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
