import { isSameData } from "#base/hash.ts";
import { certificatesIn } from "#certificates/pem.ts";

/** How an object tells the API server to call a webhook (admissionregistration.k8s.io and apiextensions.k8s.io alike). */
export interface ClientConfig {
  readonly caBundle?: string;
  readonly url?: string;
  readonly service?: { readonly name: string; readonly namespace: string };
}

/** Whether this names a Service of that name in that namespace: what somebody else serves is not ours to vouch for. */
export function callsService({ service }: ClientConfig, namespace: string, name: string): boolean {
  return service?.namespace === namespace && service.name === name;
}

/** Whom the API server trusts when it calls, in PEM. */
export function trustedBy({ caBundle = "" }: ClientConfig): readonly string[] {
  return certificatesIn(Buffer.from(caBundle, "base64").toString("utf8"));
}

/** Whether exactly these are trusted. */
export function trusts(config: ClientConfig, authorities: readonly string[]): boolean {
  return isSameData(trustedBy(config), authorities);
}

/** `caBundle` as the API takes it. @param authorities in PEM */
export function caBundleOf(authorities: readonly string[]): string {
  return Buffer.from(authorities.join("")).toString("base64");
}
