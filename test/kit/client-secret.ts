import { setTimeout as sleep } from "node:timers/promises";
import { applicationCertificateName, CERTIFICATE_FILE, KEY_FILE, TRUST_FILE } from "#api/names.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import { eventually, type UserCluster } from "#kit/e2e.ts";
import { type Reach, serviceAddress, serviceHost } from "#kit/reach.ts";
import { secretTexts } from "#kit/user-tls.ts";

// An application shows, and trusts, what the Secret NAME-client says, and reads that again and again, as docs/limits.md tells people.

/** How often an application looks at what it has been given, in milliseconds. */
const READ_EVERY_MS = 5_000;

/** With what the Secret for applications says, whoever writes it anew, until it is disposed of. */
export class ByClientSecret implements Reach, AsyncDisposable {
  readonly #cluster: UserCluster;
  #endpoint: Endpoint;
  readonly #certificates: string[];
  readonly #stopped = new AbortController();
  readonly #ended: Promise<void>;

  /** Waits until there is such a Secret. */
  static async start(cluster: UserCluster, deadlineMs = 60_000): Promise<ByClientSecret> {
    return new ByClientSecret(cluster, await eventually(() => identityOf(cluster), deadlineMs));
  }

  private constructor(cluster: UserCluster, first: TlsIdentity) {
    this.#cluster = cluster;
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
      const given = await identityOf(this.#cluster).catch(() => undefined);
      const last = this.#endpoint.tls;
      if (given === undefined || (given.ca === last?.ca && given.cert === last.cert)) continue;
      if (given.cert !== last?.cert) this.#certificates.push(given.cert);
      this.#endpoint = { ...this.#endpoint, tls: given };
    }
  }
}

async function identityOf(cluster: UserCluster): Promise<TlsIdentity> {
  const name = applicationCertificateName(cluster.name);
  const { [TRUST_FILE]: ca, [CERTIFICATE_FILE]: cert, [KEY_FILE]: key } = await secretTexts(cluster, name);
  if (ca === undefined || cert === undefined || key === undefined) throw new Error(`Secret ${name} is not whole`);
  return { ca, cert, key, serverName: serviceHost(cluster) };
}
