import { OPERATOR } from "#api/names.ts";
import { newAuthority as issueAuthority, newLeaf } from "#certificates/issue.ts";
import type { KeyPair } from "#certificates/pem.ts";
import { AUTHORITY_VALID_MS, BACKDATED_MS, SERVING_VALID_MS } from "#webhooks/certificate/renewal.ts";

/** Creates a new CA. */
export function newAuthority(nowMs: number): Promise<KeyPair> {
  const validity = { fromMs: nowMs - BACKDATED_MS, untilMs: nowMs + AUTHORITY_VALID_MS };
  return issueAuthority(`${OPERATOR} webhooks`, validity);
}

/** Issues a certificate for this DNS name. It expires before its CA. */
export function newServing(authority: KeyPair, host: string, nowMs: number): Promise<KeyPair> {
  return newLeaf(authority, {
    commonName: `${OPERATOR} webhooks`, // a host may be longer than a common name
    names: [host],
    usages: ["serverAuth"],
    fromMs: nowMs - BACKDATED_MS,
    untilMs: nowMs + SERVING_VALID_MS,
  });
}
