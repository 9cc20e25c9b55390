import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import type { Clock } from "#base/clock.ts";
import type { SeenBinding } from "#cluster/snapshot.ts";
import { type Key, keyText } from "#runtime/controller.ts";

interface Known {
  readonly uid: string;
  readonly text: string;
  readonly sinceMs: number;
  /** Whether it has had other content before. */
  readonly hasChanged: boolean;
}

/** Since when each binding has its current content. A cache: a restarted operator counts from zero. */
export class BindingTimes {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #clusters = new Map<string, ReadonlyMap<string, Known>>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** The bindings that the operator maintains for users of this cluster's current identity. */
  look(cluster: EtcdCluster, users: readonly EtcdUser[]): readonly SeenBinding[] {
    const { namespace, name } = cluster.metadata;
    const key = keyText({ namespace, name });
    const nowMs = this.#clock.monotonicMs();
    const before = this.#clusters.get(key);
    const known = new Map<string, Known>();
    const seen = users.flatMap((user) => {
      const { name: userName, uid, creationTimestamp } = user.metadata;
      const binding = keptBinding(user, cluster);
      if (binding === undefined) return [];
      // A renewal by the same CA is no change: the previous certificate is still accepted.
      const text = JSON.stringify([binding.trustIds, binding.signerId]);
      const namesake = before?.get(userName);
      const last = namesake?.uid === uid ? namesake : undefined;
      const isSame = last?.text === text;
      const sinceMs = isSame ? last.sinceMs : nowMs;
      const hasChanged = last !== undefined && (!isSame || last.hasChanged);
      known.set(userName, { uid, text, sinceMs, hasChanged });
      const madeAtMs = hasChanged ? undefined : momentOf(creationTimestamp);
      return [{ ...binding, madeAtMs, knownForMs: nowMs - sinceMs }];
    });
    this.#clusters.set(key, known);
    return seen;
  }

  /** Forgets a deleted cluster. */
  forget(key: Key): void {
    this.#clusters.delete(keyText(key));
  }
}

/** Reason of EtcdUsers with bindings that are not waited for: these bindings stay as they are. */
const UNTENDED = "NameTaken";

function keptBinding(
  { metadata, status }: EtcdUser,
  cluster: EtcdCluster,
): Omit<SeenBinding, "knownForMs" | "madeAtMs"> | undefined {
  const { binding, clusterID, certificate, conditions } = status ?? {};
  const ready = conditions?.find(({ type }) => type === "Ready");
  if (binding === undefined || metadata.deletionTimestamp !== undefined) return undefined;
  if (clusterID !== cluster.status?.identity?.clusterID || ready?.reason === UNTENDED) return undefined;
  return {
    user: metadata.name,
    secretName: binding.name,
    trustIds: binding.trusts,
    signerId: binding.signedBy,
    notAfterMs: momentOf(certificate?.notAfter),
    reason: ready?.status === "True" ? undefined : ready?.reason,
  };
}

function momentOf(text: string | undefined): number | undefined {
  const atMs = Date.parse(text ?? "");
  return Number.isNaN(atMs) ? undefined : atMs;
}
