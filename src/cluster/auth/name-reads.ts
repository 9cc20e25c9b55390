import type { EtcdCluster, Unmanaged } from "#api/v1beta1/cluster.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { fingerprint } from "#base/hash.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import { type AllNames, type HeldNames, unmanagedOf } from "./unmanaged.ts";

// When are the names of all users and roles of etcd read?
//   When the auth revision of etcd has changed since the last time, or the names of EtcdUsers and EtcdRoles. The user
//   of a deleted EtcdUser is unmanaged if it still exists. Each change of users increments the auth revision; without
//   one, nothing is read.

interface Memory {
  readonly version: string;
  readonly unmanaged: Unmanaged;
}

/** Names of users and roles in etcd. A cache: a process reads them once after its start. */
export class NameReads {
  readonly #known = new Map<string, Memory>();

  /**
   * `undefined` when etcd did not answer: callers do not wait for names.
   * @param user the operator's user @param revision etcd's auth revision @param held names in EtcdUsers and EtcdRoles
   * @throws OperatorError Cancelled
   */
  async look(
    cluster: EtcdCluster,
    user: string | undefined,
    revision: number,
    held: () => HeldNames,
    ask: () => Promise<AllNames>,
  ): Promise<Unmanaged | undefined> {
    const key = keyText(cluster.metadata);
    const version = () => versionOf(cluster, user, revision, held());
    const last = this.#known.get(key);
    if (last?.version === version()) return last.unmanaged;
    try {
      const all = await ask();
      // A name created since then is recorded by its object.
      const unmanaged = unmanagedOf(cluster, user, held(), all);
      this.#known.set(key, { version: version(), unmanaged });
      return unmanaged;
    } catch (thrown) {
      if (!(thrown instanceof OperatorError) || hasCode(thrown, "Cancelled")) throw thrown;
      return undefined;
    }
  }

  forget({ namespace, name }: Key): void {
    this.#known.delete(keyText({ namespace, name }));
  }
}

function versionOf({ status }: EtcdCluster, user: string | undefined, revision: number, held: HeldNames): string {
  const operators = status?.auth?.operators ?? [];
  return fingerprint([revision, user, operators, [...held.users.keys()].toSorted(), [...held.roles].toSorted()]);
}
