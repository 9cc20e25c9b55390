import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

// Certificates and keys that an attacker would write into a Secret: DER made by hand, since no tool makes them.

/** One element of DER of any length. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const size = Math.ceil(body.length.toString(16).length / 2);
  const length = Buffer.alloc(size);
  length.writeUIntBE(body.length, 0, size);
  return Buffer.concat([Buffer.from([tag, 0x80 | size]), length, body]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);

/** A random odd positive number of this many bits. */
export function integer(bits: number): Buffer {
  const bytes = randomBytes(Math.ceil(bits / 8));
  const top = (bits - 1) % 8;
  bytes[0] = ((bytes[0] ?? 0) & ((1 << top) - 1)) | (1 << top);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
  return der(0x02, Buffer.from([0]), bytes);
}

/** @param hex an OID in DER, with tag and length */
export const oid = (hex: string): Buffer => Buffer.from(hex, "hex");

const ED25519 = sequence(oid("06032b6570"));
const SHA256_WITH_RSA = sequence(oid("06092a864886f70d01010b"), oid("0500"));
const ECDSA_WITH_SHA256 = sequence(oid("06082a8648ce3d040302"));
const DSA_WITH_SHA256 = sequence(oid("0609608648016503040302"));
const RSA = sequence(oid("06092a864886f70d010101"), oid("0500"));
const BASIC_CONSTRAINTS = sequence(oid("0603551d13"), oid("0101ff"), der(0x04, sequence(oid("0101ff"))));

export function inPem(body: Buffer, label = "CERTIFICATE"): string {
  const lines = body.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

export function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid("0603550403"), der(0x0c, Buffer.from(commonName)))));
}

export interface Wish {
  /** SubjectPublicKeyInfo, in DER. Default: a new Ed25519 key. */
  readonly publicKey?: Buffer;
  /** An Ed25519 key that signs. Default: the new one. */
  readonly signer?: KeyObject;
  /** A DSA key that signs instead. */
  readonly dsa?: KeyObject;
  readonly algorithm?: Buffer;
  readonly signature?: Buffer;
  readonly issuer?: string;
  readonly subject?: string;
  /** Extensions other than basicConstraints, in DER. */
  readonly extensions?: readonly Buffer[];
}

let serial = 0;

/** A CA certificate in DER. */
export function certificateOf(wish: Wish = {}): Buffer {
  const pair = generateKeyPairSync("ed25519");
  const { publicKey = pair.publicKey.export({ type: "spki", format: "der" }), signer = pair.privateKey } = wish;
  const { issuer = "CA", subject = "CA", extensions = [], dsa } = wish;
  const { algorithm = dsa === undefined ? ED25519 : DSA_WITH_SHA256 } = wish;
  serial += 1;
  const time = (text: string) => der(0x17, Buffer.from(text));
  const body = sequence(
    der(0xa0, oid("020102")),
    der(0x02, Buffer.from([0x40, serial >> 8, serial & 0xff])),
    algorithm,
    nameOf(issuer),
    sequence(time("250101000000Z"), time("491231000000Z")),
    nameOf(subject),
    publicKey,
    der(0xa3, sequence(BASIC_CONSTRAINTS, ...extensions)),
  );
  const own = dsa === undefined ? sign(null, body, signer) : sign("sha256", body, dsa);
  const signature = wish.signature ?? own;
  return sequence(body, algorithm, der(0x03, Buffer.from([0]), signature));
}

/** An RSA key with long numbers, which make verification slow. The certificate claims to be self-signed. */
export function rsaCertificate(modulusBits: number, exponentBits: number): Buffer {
  const publicKey = sequence(RSA, der(0x03, Buffer.from([0]), sequence(integer(modulusBits), integer(exponentBits))));
  const signature = randomBytes(Math.ceil(modulusBits / 8));
  signature[0] = 0;
  return certificateOf({ publicKey, algorithm: SHA256_WITH_RSA, signature });
}

/** The prime, the order and the generator of P-256, as explicit curve parameters of a key. */
const P256 = {
  prime: "00ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
  a: "ffffffff00000001000000000000000000000000fffffffffffffffffffffffc",
  b: "5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b",
  generator:
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
  order: "00ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
} as const;

/**
 * An ECDSA key on P-256.
 * @param curve whether the key names its curve, or gives its parameters
 */
export function ecCertificate(curve: "named" | "explicit" = "named"): Buffer {
  const hex = (text: string) => Buffer.from(text, "hex");
  const spki = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "der" });
  // Numbers that could be a signature, so that verification runs to its end.
  const signed = { algorithm: ECDSA_WITH_SHA256, signature: sequence(integer(255), integer(255)) };
  if (curve === "named") return certificateOf({ publicKey: spki, ...signed });
  const parameters = sequence(
    oid("020101"),
    sequence(oid("06072a8648ce3d0101"), der(0x02, hex(P256.prime))),
    sequence(der(0x04, hex(P256.a)), der(0x04, hex(P256.b))),
    der(0x04, hex(P256.generator)),
    der(0x02, hex(P256.order)),
    oid("020101"),
  );
  const algorithm = sequence(oid("06072a8648ce3d0201"), parameters);
  const point = spki.subarray(spki.length - 65);
  return certificateOf({ publicKey: sequence(algorithm, der(0x03, Buffer.from([0]), point)), ...signed });
}
