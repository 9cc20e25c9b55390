import { waking } from "#cluster/lifecycle/sleep.ts";
import { isAtRest, REST_VOUCHED_MS } from "#cluster/observe/rest.ts";
import { type ClusterSnapshot, isPaused, type MemberHistory, peerNamed } from "#cluster/snapshot.ts";
import { canary } from "#cluster/update/canary.ts";
import { lacksOnly } from "#cluster/update/fitness.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import { ownJoining } from "./learners.ts";
import { isResizing, type KnownMember, knownMembers } from "./members.ts";

/**
 * How much time before it one observation covers, in milliseconds: longer than any rule waits (10 s). Longer gaps count
 * only this much, so a busy operator replaces a member later, but not never. Clusters at rest are observed less often;
 * see rest.ts.
 */
const VOUCHED_MS = 15_000;

/** What consecutive observations have found about a member; times in milliseconds. */
interface MemberRecord {
  readonly known: Counted;
  readonly sick: Counted;
  readonly lost: Counted;
  readonly coming: CountedPerRevision;
  readonly silent: Counted;
  readonly unfit: Counted;
  readonly tried: CountedPerRevision;
  readonly podless: Counted;
  readonly unready: Counted;
  /** Whether the member is joining and has not started. */
  readonly isStarting: boolean;
  readonly wellAtMs: number | undefined;
}

/** The last observation of a cluster. */
interface Observation {
  readonly observedAtMs: number;
  readonly members: ReadonlyMap<string, MemberRecord>;
  /** @see MemberHistory */
  readonly earlierTriesMs: number;
  /** Whether the cluster was healthy or asleep, so that no time is counted: see rest.ts. */
  readonly isSettled: boolean;
}

/** How long a finding has lasted. */
interface Counted {
  readonly ms: number;
  /** Whether the last observation counted. */
  readonly goesOn: boolean;
}

const NOTHING: Counted = { ms: 0, goesOn: false };

/** Counted across pods with the same template revision; another revision starts again at 0. */
interface CountedPerRevision extends Counted {
  /** The template revision of those pods; `undefined` before the first restart. */
  readonly revision: string | undefined;
}

const NO_REVISION: CountedPerRevision = { ...NOTHING, revision: undefined };

/** Starts to count or continues; paused when this observation does not count. */
function counted(before: Counted, sinceMs: number, counts = true): Counted {
  return counts ? { ms: before.ms + (before.goesOn ? sinceMs : 0), goesOn: true } : { ...before, goesOn: false };
}

/** @param revision of the member's pod; paused without one */
function countedWith(revision: string | undefined, before: CountedPerRevision, sinceMs: number, counts: boolean) {
  if (!counts) return { ...before, goesOn: false };
  return { ...counted(before.revision === revision ? before : NOTHING, sinceMs), revision };
}

// Why in memory, and not in the status? The member may recover while the operator is down or cannot write, and a record
// would outlive that. It would also depend on a wall clock, which may be wrong on the next node. A new process starts
// at 0: a lost member is replaced later, never too early.

/** What this process has observed of each member. A cache: a new process starts with nothing. */
export class HealthLog {
  readonly #clusters = new Map<string, Observation>();
  #settled = 0;
  readonly #onGap: (ms: number) => void;

  /** @param onGap called with time that no observation covers, in milliseconds */
  constructor(onGap?: (ms: number) => void) {
    this.#onGap = onGap ?? (() => undefined);
  }

  /**
   * Records what the snapshot shows of each member.
   * @param atMs monotonic: a jump of the wall clock must not remove a member
   * @returns by member ID
   */
  record(key: Key, snapshot: ClusterSnapshot, atMs: number): ReadonlyMap<string, MemberHistory> {
    const before = this.#clusters.get(keyText(key));
    const passedMs = before === undefined ? 0 : atMs - before.observedAtMs;
    const sinceMs = Math.min(passedMs, VOUCHED_MS);
    this.#reportGap(before, atMs);
    // Without a quorum, a lost member looks like one that waits for the others.
    const isEvidence = snapshot.members.is === "present" && !isPaused(snapshot);
    const members = new Map<string, MemberRecord>();
    for (const member of knownMembers(snapshot)) {
      const { container, template } = member;
      const last = before?.members.get(member.id);
      const isSick = !member.participatesInQuorum;
      const counts = isEvidence && peerNamed(snapshot, member.name) !== undefined;
      const isLost = isSick && !member.isVouchedFor;
      const isUnfit = member.lacks.length > 0;
      const withNew = (before = NO_REVISION, isCounted: boolean) =>
        countedWith(template.revision, before, sinceMs, isCounted);
      const coming = isLost ? withNew(last?.coming, counts && template.hasStartTimeout) : NO_REVISION;
      members.set(member.id, {
        known: counted(last?.known ?? NOTHING, sinceMs, isEvidence && !member.data.lacksOnlyPod),
        sick: isSick ? counted(last?.sick ?? NOTHING, sinceMs) : NOTHING,
        lost: isLost
          ? counted(last?.lost ?? NOTHING, sinceMs, counts && !isAwaited(snapshot, member, coming))
          : NOTHING,
        coming,
        silent: member.health.is === "healthy" ? NOTHING : counted(last?.silent ?? NOTHING, sinceMs),
        unfit: isUnfit ? counted(last?.unfit ?? NOTHING, sinceMs) : NOTHING,
        tried: isUnfit ? withNew(last?.tried, template.isOfUpdate) : NO_REVISION,
        podless: container.is === "none" ? counted(last?.podless ?? NOTHING, sinceMs) : NOTHING,
        unready: lacksOnly(member, "sidecarReadiness") ? counted(last?.unready ?? NOTHING, sinceMs) : NOTHING,
        isStarting: member.isOurs && member.joining === "notStarted",
        wellAtMs: isSick ? last?.wellAtMs : atMs,
      });
    }
    const earlierTriesMs = earlierTriesOf(snapshot, before, members);
    this.#put(key, { observedAtMs: atMs, members, earlierTriesMs, isSettled: isAtRest(snapshot) });
    return new Map([...members].map(([id, observed]) => [id, historyOf(observed, earlierTriesMs, atMs)]));
  }

  /** Records another sign of life: the member is not lost. */
  vouch(key: Key, id: string): void {
    const cluster = this.#clusters.get(keyText(key));
    const observed = cluster?.members.get(id);
    if (cluster === undefined || observed === undefined) return;
    const members = new Map([...cluster.members, [id, { ...observed, lost: NOTHING, coming: NO_REVISION }]]);
    this.#clusters.set(keyText(key), { ...cluster, members });
  }

  /** Records that a cluster at rest is unchanged: no time is counted. @param atMs monotonic */
  quicklyChecked(key: Key, atMs: number): void {
    const last = this.#clusters.get(keyText(key));
    if (last?.isSettled !== true) return;
    this.#reportGap(last, atMs);
    this.#put(key, { ...last, observedAtMs: atMs });
  }

  /**
   * Records that the cluster sleeps: no time is counted, and after the wake-up all start at 0. @param atMs monotonic
   */
  slept(key: Key, snapshot: ClusterSnapshot, atMs: number): void {
    this.#put(key, { observedAtMs: atMs, members: new Map(), earlierTriesMs: 0, isSettled: isAtRest(snapshot) });
  }

  forget(key: Key): void {
    this.#put(key, undefined);
  }

  /** How many clusters were at rest at the last observation. */
  get settled(): number {
    return this.#settled;
  }

  #reportGap(before: Observation | undefined, atMs: number): void {
    if (before === undefined) return;
    const gapMs = atMs - before.observedAtMs - (before.isSettled ? REST_VOUCHED_MS : VOUCHED_MS);
    if (gapMs > 0) this.#onGap(gapMs);
  }

  #put(key: Key, record: Observation | undefined): void {
    const text = keyText(key);
    this.#settled += Number(record?.isSettled ?? false) - Number(this.#clusters.get(text)?.isSettled ?? false);
    if (record === undefined) this.#clusters.delete(text);
    else this.#clusters.set(text, record);
  }
}

// Why the age of the pod is not enough: a pod may be recreated more often than its start timeout, such as after
// evictions. Each pod would get the whole time, no member would ever be replaced, and the update would not end.

/**
 * Whether the member still has time to start, after a wake-up or with a new template. It is not lost before that time
 * is over.
 */
function isAwaited(snapshot: ClusterSnapshot, member: KnownMember, coming: CountedPerRevision): boolean {
  const isWaking = waking(snapshot).some(({ id }) => id === member.id);
  const hasTime = coming.ms < snapshot.memberTimeoutMs;
  return isWaking || canary(snapshot)?.id === member.id || (hasTime && member.template.hasStartTimeout);
}

/**
 * The time that earlier joining members took that were removed before they started, in milliseconds. Without a member
 * list none counts as removed. It is reset once there are as many voters as wanted and no member is joining.
 */
function earlierTriesOf(
  snapshot: ClusterSnapshot,
  before: Observation | undefined,
  members: ReadonlyMap<string, MemberRecord>,
): number {
  const isPresent = snapshot.members.is === "present";
  if (before === undefined || (isPresent && !isResizing(snapshot) && ownJoining(snapshot).length === 0)) return 0;
  const gone = [...before.members].filter(([id, { isStarting }]) => isPresent && isStarting && !members.has(id));
  return gone.reduce((sum, [, { known }]) => sum + known.ms, before.earlierTriesMs);
}

function historyOf(observed: MemberRecord, earlierTriesMs: number, atMs: number): MemberHistory {
  const { known, sick, lost, silent, unfit, tried, podless, unready, wellAtMs } = observed;
  return {
    knownForMs: known.ms,
    sickForMs: sick.ms,
    lostForMs: lost.ms,
    silentForMs: silent.ms,
    unfitForMs: unfit.ms,
    triedForMs: tried.ms,
    podlessForMs: podless.ms,
    unreadyForMs: unready.ms,
    earlierTriesMs,
    wellMsAgo: wellAtMs === undefined ? undefined : atMs - wellAtMs,
  };
}
