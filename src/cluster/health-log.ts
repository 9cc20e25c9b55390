import { isHealthy, knownMembers } from "#cluster/members.ts";
import type { ClusterSnapshot, Sickness } from "#cluster/snapshot.ts";
import { type Key, keyText } from "#runtime/controller.ts";

/** Between looks that are further apart, in milliseconds, a member may have been well for a while: what was seen before them says nothing. */
const GAP_MS = 10_000;

interface Seen {
  readonly sickFromMs: number | undefined;
  readonly wasWell: boolean;
}

/**
 * Since when each look of this process has found a member unhealthy. A cache: a process that starts, or that could not look for a while,
 * begins anew, and falls back on what the status says once it has looked long enough.
 */
export class HealthLog {
  readonly #clusters = new Map<string, { lookedAtMs: number; seen: ReadonlyMap<string, Seen> }>();

  /**
   * Notes what the snapshot tells of each member.
   * @param atMs monotonic: the wall clock may jump, and nobody is to be given up for that
   * @returns by member ID, how it is with those that are not healthy
   */
  look(key: Key, snapshot: ClusterSnapshot, atMs: number): ReadonlyMap<string, Sickness> {
    const before = this.#clusters.get(keyText(key));
    const goesOn = before !== undefined && atMs - before.lookedAtMs < GAP_MS;
    const seen = new Map<string, Seen>();
    const sick = new Map<string, Sickness>();
    for (const member of knownMembers(snapshot)) {
      const last = goesOn ? before.seen.get(member.id) : undefined;
      const isWell = isHealthy(snapshot, member);
      const wasWell = isWell || (last?.wasWell ?? false);
      const sickFromMs = isWell ? undefined : (last?.sickFromMs ?? atMs);
      seen.set(member.id, { sickFromMs, wasWell });
      if (sickFromMs !== undefined) sick.set(member.id, { forMs: atMs - sickFromMs, wasWell });
    }
    this.#clusters.set(keyText(key), { lookedAtMs: atMs, seen });
    return sick;
  }

  forget(key: Key): void {
    this.#clusters.delete(keyText(key));
  }
}
