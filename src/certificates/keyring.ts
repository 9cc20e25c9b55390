import { inspect } from "node:util";
import { CERTIFICATE_FILE, KEY_FILE, TRUST_FILE } from "#api/names.ts";
import { textIn } from "#certificates/facts.ts";
import type { Secret } from "#kube/kinds.ts";

/** The operator's client certificate for the members of a cluster, and the CAs that it trusts there; all PEM. */
export interface ClientIdentity {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** Name of the Secret, for messages. */
  readonly secretName: string;
}

/** Namespace and name of the EtcdCluster. */
interface ClusterRef {
  readonly namespace: string;
  readonly name: string;
}

/**
 * The operator's client certificates for all clusters. Private keys stay in memory only here: printing the keyring, or
 * converting it to JSON, shows none.
 */
export class Keyring {
  readonly #identities = new Map<string, ClientIdentity>();
  /** Identities as read from the Secrets, without additional CAs. */
  readonly #learnt = new Map<string, ClientIdentity>();
  readonly #additionalTrust = new Map<string, string>();

  /**
   * `undefined` while the cluster has none, or it was not read yet. Returns the same object until something changes.
   */
  identityOf({ namespace, name }: ClusterRef): ClientIdentity | undefined {
    return this.#identities.get(`${namespace}/${name}`);
  }

  /** Replaces the identity by the content of the Secret. An incomplete Secret is ignored. */
  learn({ namespace, name }: ClusterRef, secret: Secret): void {
    const [ca, cert, key] = [TRUST_FILE, CERTIFICATE_FILE, KEY_FILE].map((each) => textIn(secret, each));
    if (!ca || !cert || !key) return; // The previous identity may still work.
    const { name: secretName } = secret.metadata;
    this.#learnt.set(`${namespace}/${name}`, hidden({ ca, cert, key, secretName }));
    this.#put(`${namespace}/${name}`);
  }

  /** Sets additional CAs that the operator trusts there, in PEM: members may get certificates of a new CA. */
  alsoTrust({ namespace, name }: ClusterRef, pem: string): void {
    this.#additionalTrust.set(`${namespace}/${name}`, pem);
    this.#put(`${namespace}/${name}`);
  }

  forget({ namespace, name }: ClusterRef): void {
    for (const each of [this.#identities, this.#learnt, this.#additionalTrust]) each.delete(`${namespace}/${name}`);
  }

  #put(cluster: string): void {
    const learnt = this.#learnt.get(cluster);
    if (learnt === undefined) return;
    const { cert, key, secretName } = learnt;
    const ca = learnt.ca + (this.#additionalTrust.get(cluster) ?? "");
    const before = this.#identities.get(cluster);
    const isSame = before?.ca === ca && before.cert === cert && before.key === key && before.secretName === secretName;
    if (!isSame) this.#identities.set(cluster, hidden({ ca, cert, key, secretName }));
  }

  toJSON(): string {
    return `keyring of ${this.#identities.size} clusters`;
  }
}

/** Its parts can be read by name; printing it or converting it to JSON shows nothing. */
function hidden(identity: ClientIdentity): ClientIdentity {
  const value = () => "client identity";
  return Object.freeze(Object.defineProperties({ ...identity }, { toJSON: { value }, [inspect.custom]: { value } }));
}
