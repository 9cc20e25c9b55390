import type { X509Certificate } from "node:crypto";
import { numberBits, writtenKey } from "#certificates/der.ts";

// Which kinds of keys does the operator use?
//   Those that etcd accepts: RSA, ECDSA on a named curve and Ed25519. Also Ed448, at no extra cost.
// Why no others?
//   Users may write any key into a Secret, and OpenSSL works on the thread of the event loop. Reading a DSA key of 15
//   kB takes 24 s.

export const RSA = "2a864886f70d010101";
export const ECDSA = "2a8648ce3d0201";
/** Algorithms by their OIDs: DER without tag and length, in hexadecimal. */
const KINDS: readonly string[] = [RSA, ECDSA, "2b6570", "2b6571"];
/** DER tag of an OID, which names a curve. */
const OID_TAG = 0x06;

/**
 * Longest RSA key with signatures that are checked, in bits. Go's TLS, and with it etcd, accepts no longer ones:
 * https://pkg.go.dev/crypto/tls (Go 1.20.7). A larger bound would only cost time.
 */
const MAX_RSA_BITS = 8_192;
/**
 * Go's crypto/rsa accepts no longer public exponent. OpenSSL accepts 3072 bits, with which a check takes 3 ms instead
 * of 0.05 ms.
 */
const MAX_EXPONENT_BITS = 31;

/** Whether a key of this algorithm is read at all. */
export function isKnownKind(kind: string): boolean {
  return KINDS.includes(kind);
}

/**
 * Why signatures by the key of this certificate are too expensive to check, as the end of a sentence such as "it has
 * …". Undefined when they are not, or when the algorithm is unknown.
 */
export function costlyKeyText(certificate: X509Certificate): string | undefined {
  const { kind, parametersTag, bits } = writtenKey(certificate);
  if (kind === ECDSA && parametersTag !== OID_TAG)
    return "an ECDSA key on a curve without a name; it may be on a named curve, such as P-256";
  if (kind !== RSA) return undefined;
  const [modulus = 0, exponent = 0] = numberBits(bits);
  if (modulus > MAX_RSA_BITS) return `an RSA key of ${modulus} bits; it may have at most ${MAX_RSA_BITS}`;
  if (exponent > MAX_EXPONENT_BITS)
    return `an RSA key with an exponent of ${exponent} bits; it may have at most ${MAX_EXPONENT_BITS}`;
  return undefined;
}

/** Whether signatures by this CA are checked. etcd accepts none by other CAs. */
export function isCheckable(authority: X509Certificate): boolean {
  return isKnownKind(writtenKey(authority).kind) && costlyKeyText(authority) === undefined;
}
