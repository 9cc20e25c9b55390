import { setTimeout as sleep } from "node:timers/promises";
import { applicationCertificateName, CERTIFICATE_FILE, KEY_FILE, TRUST_FILE, trustConfigMapName } from "#api/names.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import { eventually, type UserCluster } from "#kit/e2e.ts";
import { type Reach, serviceAddress, serviceHost } from "#kit/reach.ts";
import { secretTexts } from "#kit/user-tls.ts";
import type { ConfigMap } from "#kube/kinds.ts";

// An application shows, and trusts, what the Secret NAME-client or a binding says, and reads that again and again, as docs/limits.md tells people.
// One that shows what people bring reads in the ConfigMap NAME-ca whom it is to trust: that always says it, whoever issues what members show.

/** From where it reads whom it trusts. */
export type TrustIn = "its Secret" | "the ConfigMap";

/** How often an application looks at what it has been given, in milliseconds. */
const READ_EVERY_MS = 5_000;
/** For the Secret to be there at first, in milliseconds. */
const WITHIN_MS = 60_000;

/** With what a Secret for applications says, whoever writes it anew, until it is disposed of. */
export class ByClientSecret implements Reach, AsyncDisposable {
  readonly #cluster: UserCluster;
  readonly #secretName: string;
  readonly #trustIn: TrustIn;
  #endpoint: Endpoint;
  readonly #certificates: string[];
  readonly #stopped = new AbortController();
  readonly #ended: Promise<void>;

  /** Waits until there is such a Secret. @param secretName without it, that for applications without a user of their own */
  static async start(
    cluster: UserCluster,
    secretName = applicationCertificateName(cluster.name),
    trustIn: TrustIn = "its Secret",
  ): Promise<ByClientSecret> {
    const first = await eventually(() => identityOf(cluster, secretName, trustIn), WITHIN_MS);
    return new ByClientSecret(cluster, { secretName, trustIn }, first);
  }

  private constructor(
    cluster: UserCluster,
    { secretName, trustIn }: { secretName: string; trustIn: TrustIn },
    first: TlsIdentity,
  ) {
    this.#cluster = cluster;
    this.#secretName = secretName;
    this.#trustIn = trustIn;
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
      const given = await identityOf(this.#cluster, this.#secretName, this.#trustIn).catch(() => undefined);
      const last = this.#endpoint.tls;
      if (given === undefined || (given.ca === last?.ca && given.cert === last.cert)) continue;
      if (given.cert !== last?.cert) this.#certificates.push(given.cert);
      this.#endpoint = { ...this.#endpoint, tls: given };
    }
  }
}

async function identityOf(cluster: UserCluster, name: string, trustIn: TrustIn): Promise<TlsIdentity> {
  const { [TRUST_FILE]: own, [CERTIFICATE_FILE]: cert, [KEY_FILE]: key } = await secretTexts(cluster, name);
  const ca = trustIn === "its Secret" ? own : await trustOf(cluster);
  if (ca === undefined || cert === undefined || key === undefined) throw new Error(`Secret ${name} is not whole`);
  return { ca, cert, key, serverName: serviceHost(cluster) };
}

/** What the ConfigMap says that tells everybody whom to trust. */
async function trustOf(cluster: UserCluster): Promise<string | undefined> {
  const { data } = await cluster.json<ConfigMap>("get", "configmap", trustConfigMapName(cluster.name));
  return data?.[TRUST_FILE];
}
