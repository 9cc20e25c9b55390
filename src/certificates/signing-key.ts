import type { KeyObject, X509Certificate } from "node:crypto";
import { extensionsOf } from "#certificates/der.ts";
import { ANY_USE, CLIENT_AUTH, SERVER_AUTH } from "#certificates/extended-key-usage.ts";
import { keyIn } from "#certificates/pem.ts";

// Which CAs can the operator sign with?
//   CAs with an RSA, ECDSA or Ed25519 key, and without restrictions on names and uses. The operator creates such CAs;
//   a user may provide any. With other CAs each signature would fail, or etcd would reject the certificates.

/** Curves by OpenSSL's names, each with the hash for its signatures. */
const CURVES: Readonly<Record<string, { readonly namedCurve: string; readonly hash: string }>> = {
  prime256v1: { namedCurve: "P-256", hash: "SHA-256" },
  secp384r1: { namedCurve: "P-384", hash: "SHA-384" },
  secp521r1: { namedCurve: "P-521", hash: "SHA-512" },
};
/**
 * Bounds on the length of an RSA key, in bits. Shorter keys are not secure. Go's TLS rejects signatures by longer keys
 * (key-kinds.ts).
 */
const RSA_BITS = { least: 2_048, most: 8_192 } as const;

/** Algorithm of a signature, as Web Crypto names it. */
export type Signing =
  | { readonly name: "ECDSA"; readonly namedCurve: string; readonly hash: string }
  | { readonly name: "RSASSA-PKCS1-v1_5"; readonly hash: "SHA-256" }
  | { readonly name: "Ed25519" };

/** Algorithm for signatures by this key; undefined when the operator does not support it. */
export function signingBy(key: KeyObject | undefined): Signing | undefined {
  const { namedCurve = "", modulusLength = 0 } = key?.asymmetricKeyDetails ?? {};
  const curve = CURVES[namedCurve];
  if (curve !== undefined) return { name: "ECDSA", ...curve };
  const isRsa = key?.asymmetricKeyType === "rsa" && RSA_BITS.least <= modulusLength && modulusLength <= RSA_BITS.most;
  if (isRsa) return { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  return key?.asymmetricKeyType === "ed25519" ? { name: "Ed25519" } : undefined;
}

/** OID 2.5.29.30, in DER. */
const NAME_CONSTRAINTS = "551d1e";

/**
 * Why the operator cannot sign with a CA, as a clause that quotes nothing of its key; undefined when it can.
 * @param key in PEM @param fields names of both in the Secret, for the message
 */
export function whyNoSigner(
  authority: X509Certificate,
  key: string,
  fields: { readonly certificate: string; readonly key: string },
): string | undefined {
  const is = keyIn(key);
  if (signingBy(is) === undefined)
    return `its ${fields.key} is ${kindOf(is)}; it must be RSA of ${RSA_BITS.least} to ${RSA_BITS.most} bits, ECDSA on P-256, P-384 or P-521, or Ed25519`;
  if (extensionsOf(authority).has(NAME_CONSTRAINTS))
    return `its ${fields.certificate} has name constraints; it must have none, since members have names such as localhost`;
  const uses = (authority.keyUsage as readonly string[] | undefined) ?? [];
  const isForBoth = uses.includes(ANY_USE) || [SERVER_AUTH, CLIENT_AUTH].every((use) => uses.includes(use));
  if (uses.length > 0 && !isForBoth)
    return `its ${fields.certificate} has an extended key usage; it must have none, or serverAuth and clientAuth`;
  return undefined;
}

function kindOf(key: KeyObject | undefined): string {
  const { modulusLength, namedCurve } = key?.asymmetricKeyDetails ?? {};
  if (modulusLength !== undefined && key?.asymmetricKeyType !== "dsa") return `an RSA key of ${modulusLength} bits`;
  if (namedCurve !== undefined) return `an ECDSA key on ${namedCurve}`;
  return `a key of the kind ${key?.asymmetricKeyType ?? "unknown"}`;
}
