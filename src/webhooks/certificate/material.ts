import { MANAGED_BY_LABEL, OPERATOR, WEBHOOKS } from "#api/names.ts";
import { certificatesIn, isPair, type KeyPair } from "#certificates/pem.ts";
import type { Draft, Secret } from "#kube/kinds.ts";

// What does the Secret contain?
//   The serving certificate, as in kubernetes.io/tls: tls.crt and tls.key. The CA's key: ca.key. The CAs that the API
//   server is to trust: ca.crt. The current CA comes first, then previous ones, since some replica may still serve with
//   their certificates.

/** The webhooks' CA and serving certificate. */
export interface Material {
  readonly authority: KeyPair;
  readonly serving: KeyPair;
  /** Previous CAs that are still to be trusted, in PEM. */
  readonly earlier: readonly string[];
}

/** Why a Secret contains no usable material, in words that quote nothing of it. */
interface Unusable {
  readonly unusable: string;
}

const FIELDS = ["ca.crt", "ca.key", "tls.crt", "tls.key"] as const;
type Field = (typeof FIELDS)[number];

/** The material in a Secret, if everything can be parsed and each key belongs to its certificate. */
export function materialOf({ data = {} }: Pick<Secret, "data">): Material | Unusable {
  const missing = FIELDS.find((field) => (data[field] ?? "") === "");
  if (missing !== undefined) return { unusable: `it has no ${missing}` };
  const text = (field: Field) => Buffer.from(data[field] ?? "", "base64").toString("utf8");
  const [authority, ...earlier] = certificatesIn(text("ca.crt"));
  const [serving, ...chain] = certificatesIn(text("tls.crt"));
  if (authority === undefined || !isPair(authority, text("ca.key")))
    return { unusable: "ca.key is not that of ca.crt" };
  if (serving === undefined || chain.length > 0 || !isPair(serving, text("tls.key"))) {
    return { unusable: "tls.key is not that of tls.crt" };
  }
  return {
    authority: { certificate: authority, key: text("ca.key") },
    serving: { certificate: serving, key: text("tls.key") },
    earlier,
  };
}

/** Whether the operator may write the Secret. */
export function isOwnSecret({ metadata }: Secret): boolean {
  return metadata.labels?.[MANAGED_BY_LABEL] === OPERATOR;
}

/** The Secret with the material. @param live the Secret to be replaced; undefined when there is none */
export function secretFor(namespace: string, material: Material, live: Secret | undefined): Draft<Secret> {
  const data: Record<Field, string> = {
    "ca.crt": bundleOf(material),
    "ca.key": material.authority.key,
    "tls.crt": material.serving.certificate,
    "tls.key": material.serving.key,
  };
  const metadata = live?.metadata ?? { namespace, name: WEBHOOKS, labels: { [MANAGED_BY_LABEL]: OPERATOR } };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    type: live?.type ?? "kubernetes.io/tls",
    data: Object.fromEntries(
      Object.entries(data).map(([field, text]) => [field, Buffer.from(text).toString("base64")]),
    ),
  };
}

/** The CAs that the API server is to trust, in PEM. */
export function bundleOf({ authority, earlier }: Material): string {
  return [authority.certificate, ...earlier].join("");
}
