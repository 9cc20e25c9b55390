import { isHealthy, knownMembers, takesPart } from "#cluster/members.ts";
import { type ClusterSnapshot, isPaused, type MemberHistory, peerNamed } from "#cluster/snapshot.ts";
import { type Key, keyText } from "#runtime/controller.ts";

/**
 * Between looks that are further apart, in milliseconds, a member may have been well for a while: what was seen before them says
 * nothing. Longer than any rule waits between looks (10 s).
 */
const GAP_MS = 15_000;

interface Noted {
  readonly knownFromMs: number;
  /** `undefined` when the member took part at the last look. */
  readonly sickFromMs: number | undefined;
  readonly lostFromMs: number | undefined;
  readonly silentFromMs: number | undefined;
  readonly wellAtMs: number | undefined;
}

// Why in memory, and not in the status?
//   A record outlives looks that found the member well: while the operator was down, or could not write. And it is made with a
//   wall clock, which may be wrong on the node of the next operator. A process that starts anew counts anew: whoever
//   is lost is given up later, never too early.

/** What this process has seen of each member, look by look. A cache: a process that starts begins with nothing. */
export class HealthLog {
  readonly #clusters = new Map<string, { lookedAtMs: number; members: ReadonlyMap<string, Noted> }>();

  /**
   * Notes what the snapshot tells of each member.
   * @param atMs monotonic: the wall clock may jump, and nobody is to be given up for that
   * @returns by member ID
   */
  look(key: Key, snapshot: ClusterSnapshot, atMs: number): ReadonlyMap<string, MemberHistory> {
    const before = this.#clusters.get(keyText(key));
    const goesOn = before !== undefined && atMs - before.lookedAtMs < GAP_MS;
    const members = new Map<string, Noted>();
    const histories = new Map<string, MemberHistory>();
    for (const member of knownMembers(snapshot)) {
      const last = before?.members.get(member.id);
      const isSick = !takesPart(snapshot, member);
      const hasItsPeer = !isPaused(snapshot) && peerNamed(snapshot, member.name) !== undefined;
      const since = (holds: boolean, fromMs: number | undefined) =>
        holds ? ((goesOn ? fromMs : undefined) ?? atMs) : undefined;
      const noted: Noted = {
        knownFromMs: last?.knownFromMs ?? atMs,
        sickFromMs: since(isSick, last?.sickFromMs),
        lostFromMs: since(isSick && hasItsPeer, last?.lostFromMs),
        silentFromMs: since(!isHealthy(snapshot, member), last?.silentFromMs),
        wellAtMs: isSick ? last?.wellAtMs : atMs,
      };
      members.set(member.id, noted);
      histories.set(member.id, historyOf(noted, atMs));
    }
    this.#clusters.set(keyText(key), { lookedAtMs: atMs, members });
    return histories;
  }

  forget(key: Key): void {
    this.#clusters.delete(keyText(key));
  }
}

function historyOf(
  { knownFromMs, sickFromMs, lostFromMs, silentFromMs, wellAtMs }: Noted,
  atMs: number,
): MemberHistory {
  return {
    knownForMs: atMs - knownFromMs,
    sickForMs: atMs - (sickFromMs ?? atMs),
    lostForMs: atMs - (lostFromMs ?? atMs),
    silentForMs: atMs - (silentFromMs ?? atMs),
    wellMsAgo: wellAtMs === undefined ? undefined : atMs - wellAtMs,
  };
}
