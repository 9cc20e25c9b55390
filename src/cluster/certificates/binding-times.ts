import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import type { Clock } from "#base/clock.ts";
import type { SeenBinding } from "#cluster/snapshot.ts";
import { type Key, keyText } from "#runtime/controller.ts";

interface Known {
  readonly text: string;
  readonly sinceMs: number;
}

/** Since when bindings say what they say. A cache: a process that starts counts anew. */
export class BindingTimes {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #clusters = new Map<string, ReadonlyMap<string, Known>>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Of the users of this very etcd that have a binding which the operator keeps. */
  look(cluster: EtcdCluster, users: readonly EtcdUser[]): readonly SeenBinding[] {
    const { namespace, name } = cluster.metadata;
    const key = keyText({ namespace, name });
    const nowMs = this.#clock.monotonicMs();
    const before = this.#clusters.get(key);
    const known = new Map<string, Known>();
    const seen = users.flatMap((user) => {
      const { name: userName, uid } = user.metadata;
      const binding = keptBinding(user, cluster);
      if (binding === undefined) return [];
      // A renewal by the same authority is no change: with the certificate before everybody is still believed.
      const text = JSON.stringify([uid, binding.trustIds, binding.signerId]);
      const last = before?.get(userName);
      const sinceMs = last?.text === text ? last.sinceMs : nowMs;
      known.set(userName, { text, sinceMs });
      return [{ ...binding, knownForMs: nowMs - sinceMs }];
    });
    this.#clusters.set(key, known);
    return seen;
  }

  /** The cluster is gone. */
  forget(key: Key): void {
    this.#clusters.delete(keyText(key));
  }
}

/** Those of whom nobody waits for what they are to get, since they will get nothing: what they have stays as it is. */
const UNTENDED: ReadonlySet<string> = new Set(["SpecRefused", "NameTaken"]);

function keptBinding(
  { metadata, status }: EtcdUser,
  cluster: EtcdCluster,
): Omit<SeenBinding, "knownForMs"> | undefined {
  const { binding, clusterID, certificate, conditions } = status ?? {};
  const ready = conditions?.find(({ type }) => type === "Ready");
  if (binding === undefined || metadata.deletionTimestamp !== undefined) return undefined;
  if (clusterID !== cluster.status?.identity?.clusterID || UNTENDED.has(ready?.reason ?? "")) return undefined;
  const notAfterMs = Date.parse(certificate?.notAfter ?? "");
  return {
    user: metadata.name,
    secretName: binding.name,
    trustIds: binding.trusts,
    signerId: binding.signedBy,
    notAfterMs: Number.isNaN(notAfterMs) ? undefined : notAfterMs,
    reason: ready?.status === "True" ? undefined : ready?.reason,
  };
}
