import { createSecureContext, type SecureContext } from "node:tls";
import { LRUCache } from "lru-cache";
import { TLS_COMMON, type TlsIdentity } from "./endpoint.ts";

/**
 * Number of cached contexts: enough for the few clusters that are reconciled at a time. Larger: more memory, 25 to 33
 * kB for each context. Smaller: certificates are parsed more often.
 */
const KEPT = 8;

/**
 * Cache of the most recently used TLS contexts. Parsing certificates and keys takes up to 0.8 ms of the 2 ms for a new
 * connection. The key is the full PEM text, so a context is never used after the CA bundle has changed.
 */
export class TlsContexts {
  readonly #kept = new LRUCache<string, SecureContext>({ max: KEPT });

  /** The context for this identity. @throws Error when a certificate or key is invalid, or they do not match */
  of({ ca, cert, key }: TlsIdentity): SecureContext {
    const text = JSON.stringify([ca, cert, key]);
    const context = this.#kept.get(text) ?? createSecureContext({ ...TLS_COMMON, ca, cert, key });
    this.#kept.set(text, context);
    return context;
  }
}
