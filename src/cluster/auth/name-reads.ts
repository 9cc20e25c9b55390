import type { EtcdCluster, Unmanaged } from "#api/v1beta1/cluster.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { fingerprint } from "#base/hash.ts";
import { type AllNames, type HeldNames, unmanagedOf } from "#cluster/auth/unmanaged.ts";
import { type Key, keyText } from "#runtime/controller.ts";

// When is etcd asked for the names of all its users and roles?
//   When it has counted a change of them since they were asked last, or objects say other names than they did then: what an EtcdUser had is
//   somebody else's once it is gone and the user is not. It counts with each change; at rest nothing is asked.

interface Memory {
  readonly version: string;
  readonly told: Unmanaged;
}

/** What was asked of etcd's names. A cache: a process that starts asks once. */
export class NameReads {
  readonly #known = new Map<string, Memory>();

  /**
   * `undefined` when etcd did not tell: whoever waits for more than names waits for none of them.
   * @param user as whom the operator logs in @param revision how many changes etcd has counted @param held what objects say by now
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
    if (last?.version === version()) return last.told;
    try {
      const all = await ask();
      // What was made meanwhile is on its object's record by now.
      const told = unmanagedOf(cluster, user, held(), all);
      this.#known.set(key, { version: version(), told });
      return told;
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
