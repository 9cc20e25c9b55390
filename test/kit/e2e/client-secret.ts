import { setTimeout as sleep } from "node:timers/promises";
import { applicationCertificateName, CERTIFICATE_FILE, KEY_FILE, TRUST_FILE, trustConfigMapName } from "#api/names.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import type { ConfigMap } from "#kube/kinds.ts";
import { eventually, type UserCluster } from "./e2e.ts";
import { type Reach, serviceAddress, serviceHost } from "./reach.ts";
import { secretTexts } from "./user-tls.ts";

// An application uses the certificate and CA bundle of the Secret NAME-client, or of a binding, and reloads it again
// and again, as docs/limits.md recommends. An application with people's own certificate reads the CA bundle from the
// ConfigMap NAME-ca, which always has it, whatever the provider.

/** Where it reads the CA bundle. */
export type TrustIn = "its Secret" | "the ConfigMap";

/** Interval in which an application reads its files again, in milliseconds. */
const READ_EVERY_MS = 5_000;
/** Time for the Secret to appear at first, in milliseconds. */
const WITHIN_MS = 60_000;

/** Access with the Secret for applications, reloaded after each change, until it is disposed of. */
export class ByClientSecret implements Reach, AsyncDisposable {
  readonly #cluster: UserCluster;
  readonly #secretName: string;
  readonly #trustIn: TrustIn;
  #endpoint: Endpoint;
  readonly #certificates: string[];
  readonly #stopped = new AbortController();
  readonly #ended: Promise<void>;

  /**
   * Waits until the Secret exists.
   * @param secretName by default that for applications without their own user
   */
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

  /** How many certificates the application has received so far. */
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
      // An application that cannot read anything new continues with its files, as a pod does.
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
  if (ca === undefined || cert === undefined || key === undefined) throw new Error(`Secret ${name} is incomplete`);
  return { ca, cert, key, serverName: serviceHost(cluster) };
}

/** The CA bundle in the public ConfigMap. */
async function trustOf(cluster: UserCluster): Promise<string | undefined> {
  const { data } = await cluster.json<ConfigMap>("get", "configmap", trustConfigMapName(cluster.name));
  return data?.[TRUST_FILE];
}
