import { inspect } from "node:util";
import { CERTIFICATE_FILE, KEY_FILE, TRUST_FILE } from "#api/names.ts";
import { textIn } from "#certificates/facts.ts";
import type { Secret } from "#kube/kinds.ts";

/** With what the operator shows itself to the members of a cluster, and whom it trusts there; all of it PEM. */
export interface ClientIdentity {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** Which Secret it is, for words. */
  readonly secretName: string;
}

/** By namespace and name of the EtcdCluster. */
interface ClusterRef {
  readonly namespace: string;
  readonly name: string;
}

/**
 * With what the operator connects to each cluster. The only place of the process where keys stay in memory: whoever prints it, or makes JSON of
 * it, sees nothing of them.
 */
export class Keyring {
  readonly #identities = new Map<string, ClientIdentity>();
  /** As they were learnt: their own authorities alone. */
  readonly #learnt = new Map<string, ClientIdentity>();
  readonly #besides = new Map<string, string>();

  /** `undefined` while the cluster has none, or nobody has looked yet. The same object as long as it says the same. */
  identityOf({ namespace, name }: ClusterRef): ClientIdentity | undefined {
    return this.#identities.get(`${namespace}/${name}`);
  }

  /** What was read last counts, whole or not at all. */
  learn({ namespace, name }: ClusterRef, secret: Secret): void {
    const [ca, cert, key] = [TRUST_FILE, CERTIFICATE_FILE, KEY_FILE].map((each) => textIn(secret, each));
    if (!ca || !cert || !key) return; // with what worked so far it may still work
    const { name: secretName } = secret.metadata;
    this.#learnt.set(`${namespace}/${name}`, hidden({ ca, cert, key, secretName }));
    this.#put(`${namespace}/${name}`);
  }

  /** Whom the operator trusts there besides, in PEM: what members show may come to be signed by somebody else. */
  alsoTrust({ namespace, name }: ClusterRef, pem: string): void {
    this.#besides.set(`${namespace}/${name}`, pem);
    this.#put(`${namespace}/${name}`);
  }

  forget({ namespace, name }: ClusterRef): void {
    for (const each of [this.#identities, this.#learnt, this.#besides]) each.delete(`${namespace}/${name}`);
  }

  #put(cluster: string): void {
    const learnt = this.#learnt.get(cluster);
    if (learnt === undefined) return;
    const { cert, key, secretName } = learnt;
    const ca = learnt.ca + (this.#besides.get(cluster) ?? "");
    const before = this.#identities.get(cluster);
    const isSame = before?.ca === ca && before.cert === cert && before.key === key && before.secretName === secretName;
    if (!isSame) this.#identities.set(cluster, hidden({ ca, cert, key, secretName }));
  }

  toJSON(): string {
    return `keyring of ${this.#identities.size} clusters`;
  }
}

/** Its parts are read by their names; printed, or as JSON, it says nothing. */
function hidden(identity: ClientIdentity): ClientIdentity {
  const value = () => "client identity";
  return Object.freeze(Object.defineProperties({ ...identity }, { toJSON: { value }, [inspect.custom]: { value } }));
}
