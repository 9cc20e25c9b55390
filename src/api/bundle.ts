const CERTIFICATE = /-----BEGIN CERTIFICATE-----([\sA-Za-z0-9+/=]+)-----END CERTIFICATE-----/g;

/**
 * Maximum length of a CA bundle in characters. An object's annotations must hold four: a pod's two bundles, twice
 * during an update.
 */
export const MAX_BUNDLE_LENGTH = 32_768;

/** Certificates of a PEM bundle as base64 without white space, sorted and without duplicates. */
export function certificatesIn(bundle: string): readonly string[] {
  const found = [...bundle.matchAll(CERTIFICATE)].map(([, base64 = ""]) => base64.replaceAll(/\s/g, ""));
  return [...new Set(found)].sort();
}
