import { createSecureContext, type SecureContext } from "node:tls";
import { TLS_COMMON, type TlsIdentity } from "./endpoint.ts";

/** The members of a cluster are asked side by side, and few clusters at a time. A context takes 25 to 33 kB. */
const KEPT = 8;

interface Entry {
  readonly identity: TlsIdentity;
  readonly context: SecureContext;
}

/**
 * What OpenSSL makes of certificates and keys, for the last few that were used: reading them takes up to 0.8 ms of the 2 ms that a connection
 * takes. One is never used for anything but the very texts it was made from, so whom nobody trusts any more has no place in it.
 */
export class TlsContexts {
  /** The one that was used last at the end. */
  #kept: readonly Entry[] = [];

  /** @throws Error when a certificate or key is none, or key and certificate do not belong together */
  of(identity: TlsIdentity): SecureContext {
    const { ca, cert, key } = identity;
    const kept = this.#kept.find(({ identity: of }) => of.ca === ca && of.cert === cert && of.key === key);
    const entry = kept ?? { identity, context: createSecureContext({ ...TLS_COMMON, ca, cert, key }) };
    this.#kept = [...this.#kept.filter((other) => other !== kept), entry].slice(-KEPT);
    return entry.context;
  }
}
