import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import { type EndpointStatus, hexOf } from "#etcd/types.ts";
import { type Key, keyText } from "#runtime/controller.ts";

// Why in memory, and not in the status? Sizes and times change with every check. In the status each check of each
// cluster would be a write to the API server.

/** Sizes of a member's database, in bytes. */
export type Database = Pick<EndpointStatus, "dbSizeBytes" | "dbSizeInUseBytes" | "dbSizeQuotaBytes">;

/** What the last check of a cluster found, beside its status. */
export interface LastCheck {
  /** When it ended, in milliseconds since 1970. */
  readonly atMs: number;
  /** The database of each member that answered, by its name. */
  readonly databases: ReadonlyMap<string, Database>;
  /** How often a check found a later term with a leader, since this process started. */
  readonly leaderChanges: number;
}

interface Noted extends LastCheck {
  /** The last raft term in which a member reported a leader; 0 before the first. */
  readonly term: number;
}

/** The last check of each cluster. Only for metrics, never for decisions. Empty after a start. */
export class LastChecks {
  readonly #clusters = new Map<string, Noted>();

  /** Records an observation. Skips members that did not answer, or answered with another cluster ID. */
  observed(key: Key, snapshot: Pick<ClusterSnapshot, "cluster" | "endpoints" | "takenAtMs">): void {
    const own = identityOf(snapshot)?.clusterID;
    const answers = [...snapshot.endpoints].flatMap(([name, answer]) =>
      answer.is === "present" && hexOf(answer.value.clusterId) === own ? [[name, answer.value] as const] : [],
    );
    const terms = answers.flatMap(([, { leaderId, raftTerm }]) => (leaderId === undefined ? [] : [raftTerm]));
    const databases = new Map(answers.map(([name, status]) => [name, databaseOf(status)]));
    this.#put(key, snapshot.takenAtMs, databases, Math.max(0, ...terms));
  }

  /** Records a quick check, in which one member answered. @param atMs milliseconds since 1970 */
  quicklyChecked(key: Key, name: string, status: EndpointStatus, atMs: number): void {
    const databases = new Map(this.of(key)?.databases).set(name, databaseOf(status));
    this.#put(key, atMs, databases, status.leaderId === undefined ? 0 : status.raftTerm);
  }

  /** Undefined before the first check by this process. */
  of(key: Key): LastCheck | undefined {
    return this.#clusters.get(keyText(key));
  }

  forget(key: Key): void {
    this.#clusters.delete(keyText(key));
  }

  #put(key: Key, atMs: number, databases: LastCheck["databases"], term: number): void {
    const text = keyText(key);
    const { term: before = 0, leaderChanges = 0 } = this.#clusters.get(text) ?? {};
    const isLater = before > 0 && term > before;
    this.#clusters.set(text, { atMs, databases, term: term || before, leaderChanges: leaderChanges + Number(isLater) });
  }
}

function databaseOf({ dbSizeBytes, dbSizeInUseBytes, dbSizeQuotaBytes }: EndpointStatus): Database {
  return { dbSizeBytes, dbSizeInUseBytes, dbSizeQuotaBytes };
}
