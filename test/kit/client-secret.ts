import { setTimeout as sleep } from "node:timers/promises";
import { applicationCertificateName, CERTIFICATE_FILE, KEY_FILE, TRUST_FILE } from "#api/names.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import { eventually, type UserCluster } from "#kit/e2e.ts";
import { type Reach, serviceAddress, serviceHost } from "#kit/reach.ts";
import { secretTexts } from "#kit/user-tls.ts";

// An application shows, and trusts, what the Secret NAME-client or a binding says, and reads that again and again, as docs/limits.md tells people.

/** How often an application looks at what it has been given, in milliseconds. */
const READ_EVERY_MS = 5_000;
/** For the Secret to be there at first, in milliseconds. */
const WITHIN_MS = 60_000;

/** With what a Secret for applications says, whoever writes it anew, until it is disposed of. */
export class ByClientSecret implements Reach, AsyncDisposable {
  readonly #cluster: UserCluster;
  readonly #secretName: string;
  #endpoint: Endpoint;
  readonly #certificates: string[];
  readonly #stopped = new AbortController();
  readonly #ended: Promise<void>;

  /** Waits until there is such a Secret. @param secretName without it, that for applications without a user of their own */
  static async start(
    cluster: UserCluster,
    secretName = applicationCertificateName(cluster.name),
  ): Promise<ByClientSecret> {
    return new ByClientSecret(cluster, secretName, await eventually(() => identityOf(cluster, secretName), WITHIN_MS));
  }

  private constructor(cluster: UserCluster, secretName: string, first: TlsIdentity) {
    this.#cluster = cluster;
    this.#secretName = secretName;
    this.#endpoint = { address: serviceAddress(cluster), tls: first };
    this.#certificates = [first.cert];
    this.#ended = this.#goOnReading();
  }

  endpoint(): Endpoint {
    return this.#endpoint;
  }

  /** How many certificates the application has been given so far. */
  get certificates(): number {
    return this.#certificates.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await this.#ended;
  }

  async #goOnReading(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await sleep(READ_EVERY_MS, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
      // Who cannot be told anything new goes on with what there is, as a pod does.
      const given = await identityOf(this.#cluster, this.#secretName).catch(() => undefined);
      const last = this.#endpoint.tls;
      if (given === undefined || (given.ca === last?.ca && given.cert === last.cert)) continue;
      if (given.cert !== last?.cert) this.#certificates.push(given.cert);
      this.#endpoint = { ...this.#endpoint, tls: given };
    }
  }
}

async function identityOf(cluster: UserCluster, name: string): Promise<TlsIdentity> {
  const { [TRUST_FILE]: ca, [CERTIFICATE_FILE]: cert, [KEY_FILE]: key } = await secretTexts(cluster, name);
  if (ca === undefined || cert === undefined || key === undefined) throw new Error(`Secret ${name} is not whole`);
  return { ca, cert, key, serverName: serviceHost(cluster) };
}
