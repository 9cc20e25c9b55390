import { createSecureContext, type SecureContext } from "node:tls";
import { TLS_COMMON, type TlsIdentity } from "./endpoint.ts";

/**
 * Number of cached contexts: enough for the few clusters that are reconciled at a time. Larger: more memory, 25 to 33
 * kB for each context. Smaller: certificates are parsed more often.
 */
const KEPT = 8;

interface Entry {
  readonly identity: TlsIdentity;
  readonly context: SecureContext;
}

/**
 * Cache of the most recently used TLS contexts. Parsing certificates and keys takes up to 0.8 ms of the 2 ms for a new
 * connection. The key is the full PEM text, so a context is never used after the CA bundle has changed.
 */
export class TlsContexts {
  /** Least recently used first. */
  #kept: readonly Entry[] = [];

  /** The context for this identity. @throws Error when a certificate or key is invalid, or they do not match */
  of(identity: TlsIdentity): SecureContext {
    const { ca, cert, key } = identity;
    const kept = this.#kept.find(({ identity: of }) => of.ca === ca && of.cert === cert && of.key === key);
    const entry = kept ?? { identity, context: createSecureContext({ ...TLS_COMMON, ca, cert, key }) };
    this.#kept = [...this.#kept.filter((other) => other !== kept), entry].slice(-KEPT);
    return entry.context;
  }
}
