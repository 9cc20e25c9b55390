import { isSameData } from "#base/hash.ts";
import { certificatesIn } from "#certificates/pem.ts";

/** How the API server calls a webhook, as configured in admissionregistration.k8s.io and apiextensions.k8s.io. */
export interface ClientConfig {
  readonly caBundle?: string;
  readonly url?: string;
  readonly service?: { readonly name: string; readonly namespace: string };
}

/** Whether the configuration calls the Service of this name and namespace. The operator does not change others. */
export function callsService({ service }: ClientConfig, namespace: string, name: string): boolean {
  return service?.namespace === namespace && service.name === name;
}

/** The CAs that the API server trusts for the call, in PEM. */
export function trustedBy({ caBundle = "" }: ClientConfig): readonly string[] {
  return certificatesIn(Buffer.from(caBundle, "base64").toString("utf8"));
}

/** Whether exactly these CAs are trusted. */
export function trusts(config: ClientConfig, authorities: readonly string[]): boolean {
  return isSameData(trustedBy(config), authorities);
}

/** The value of `caBundle`. @param authorities in PEM */
export function caBundleOf(authorities: readonly string[]): string {
  return Buffer.from(authorities.join("")).toString("base64");
}
