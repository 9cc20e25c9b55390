const CERTIFICATE = /-----BEGIN CERTIFICATE-----([\sA-Za-z0-9+/=]+)-----END CERTIFICATE-----/g;

/** The longest bundle that members are given, in characters: two of them, twice during an update, must find room in the annotations of an object. */
export const MAX_BUNDLE_LENGTH = 32_768;

/** The certificates in a bundle (PEM), each as base64 without white space, in an order that only they decide; one that is there twice, once. */
export function certificatesIn(bundle: string): readonly string[] {
  const found = [...bundle.matchAll(CERTIFICATE)].map(([, base64 = ""]) => base64.replaceAll(/\s/g, ""));
  return [...new Set(found)].sort();
}
