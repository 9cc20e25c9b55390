import { CERTIFICATE_FILE, KEY_FILE, TRUST_FILE } from "#api/names.ts";
import { type LeafWish, newAuthority, newLeaf } from "#certificates/issue.ts";
import type { KeyPair } from "#certificates/pem.ts";
import type { Secret } from "#kube/kinds.ts";

/** 2026-01-01T12:00:00Z, the time of the snapshots in tests. */
export const NOW_MS = Date.parse("2026-01-01T12:00:00Z");
export const DAY_MS = 86_400_000;

export function authority(name = "my-etcd peer CA"): Promise<KeyPair> {
  return newAuthority(name, { fromMs: NOW_MS - DAY_MS, untilMs: NOW_MS + 3650 * DAY_MS });
}

export function leaf(signer: KeyPair, wish: Partial<LeafWish> = {}): Promise<KeyPair> {
  return newLeaf(signer, {
    names: ["*.my-etcd.foo.svc", "localhost", "127.0.0.1", "::1"],
    usages: ["serverAuth", "clientAuth"],
    fromMs: NOW_MS - DAY_MS,
    untilMs: NOW_MS + 90 * DAY_MS,
    ...wish,
  });
}

/** A CA certificate with an unknown type of key: the object identifier of the type is changed. */
export function withUnknownKey(certificate: string): string {
  const der = Buffer.from(certificate.replaceAll(/-----.*-----|\n/g, ""), "base64");
  const EC_PUBLIC_KEY = Buffer.from("06072a8648ce3d0201", "hex");
  der[der.indexOf(EC_PUBLIC_KEY) + EC_PUBLIC_KEY.length - 1] = 9;
  return `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`;
}

/** Data of a Secret of type kubernetes.io/tls. */
export function dataOf(pair: KeyPair, trust: string): Readonly<Record<string, string>> {
  return { [CERTIFICATE_FILE]: pair.certificate, [KEY_FILE]: pair.key, [TRUST_FILE]: trust };
}

export function secretOf(name: string, texts: Readonly<Record<string, string>>, metadata: object = {}): Secret {
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/tls",
    metadata: { namespace: "foo", name, uid: `uid-of-${name}`, resourceVersion: "1", ...metadata },
    data,
  };
}
