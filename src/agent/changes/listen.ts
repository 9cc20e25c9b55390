import type { Clock } from "#base/clock.ts";
import type { ChangeFeed, Heard } from "#etcd/change-feed.ts";
import type { SnapshotSource } from "#etcd/snapshot-source.ts";
import { AgentError } from "../error.ts";
import { Inbox } from "./inbox.ts";

/** A member that is followed. */
export interface Followed extends Pick<SnapshotSource, "address" | "revision"> {
  readonly changes: Pick<ChangeFeed, "from" | "grantedTTL">;
}

/** A message from the member. */
export type Word =
  /** Part of its feed. */
  | {
      readonly kind: "heard";
      readonly heard: Heard;
      readonly atMs: number;
      /** Set when the feed was not open before: the change happened after this time. */
      readonly afterMs: number | undefined;
    }
  /** The revision contains everything acknowledged before this time. */
  | { readonly kind: "reached"; readonly revision: bigint; readonly atMs: number };

/** Deadline of a linearizable read, in milliseconds: time for a lagging member to catch up. */
export const READ_MS = 10_000;
/** Interval at which the cluster's revision is read, in milliseconds. */
const ASK_EVERY_MS = 5_000;
/** After such a pause without listening, the time of the next change is uncertain, in milliseconds. */
const DEAF_MS = 1_000;
/** A change received sooner than this, in milliseconds, existed before it was requested. */
const AT_ONCE_MS = 20;

/** Follows a member's feed and reads the cluster's revision regularly, until the signal aborts. */
export function listenTo(member: Followed, from: bigint, clock: Clock, signal: AbortSignal): Inbox<Word> {
  const inbox = new Inbox<Word>();
  const fail = (thrown: unknown) => inbox.fail(thrown);
  hear(member, from, clock, signal, inbox).catch(fail);
  ask(member, clock, signal, inbox).catch(fail);
  return inbox;
}

async function hear(
  member: Followed,
  from: bigint,
  clock: Clock,
  signal: AbortSignal,
  inbox: Inbox<Word>,
): Promise<never> {
  let afterMs: number | undefined;
  let listensSinceMs = clock.monotonicMs();
  for await (const heard of member.changes.from(from, signal)) {
    const heardMs = clock.monotonicMs();
    const atMs = clock.wallMs();
    if (heardMs - listensSinceMs > AT_ONCE_MS) afterMs = undefined;
    await inbox.put({ kind: "heard", heard, atMs, afterMs });
    listensSinceMs = clock.monotonicMs();
    if (listensSinceMs - heardMs > DEAF_MS) afterMs ??= atMs;
  }
  throw new AgentError("SourceUnreachable", `${member.address} has ended its feed`);
}

async function ask(member: Followed, clock: Clock, signal: AbortSignal, inbox: Inbox<Word>): Promise<never> {
  for (;;) {
    const atMs = clock.wallMs();
    const revision = await member.revision({ signal, deadlineMs: READ_MS });
    await inbox.put({ kind: "reached", revision, atMs });
    await clock.sleep(ASK_EVERY_MS, signal);
  }
}
