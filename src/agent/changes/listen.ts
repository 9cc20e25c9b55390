import type { Clock } from "#base/clock.ts";
import type { ChangeFeed, Heard } from "#etcd/change-feed.ts";
import type { SnapshotSource } from "#etcd/snapshot-source.ts";
import { AgentError } from "../error.ts";
import { Inbox } from "./inbox.ts";

/** A member that is followed. */
export interface Followed extends Pick<SnapshotSource, "address" | "revision"> {
  readonly changes: Pick<ChangeFeed, "from" | "grantedTTL">;
}

/** What is heard of a member. */
export type Word =
  /** What its feed tells. */
  | {
      readonly kind: "heard";
      readonly heard: Heard;
      readonly atMs: number;
      /** Set when nobody listened before: it was said after this time. */
      readonly afterMs: number | undefined;
    }
  /** Everything that was acknowledged before this time is in this revision. */
  | { readonly kind: "reached"; readonly revision: bigint; readonly atMs: number };

/** For a linearizable read; a member that lags has so long to catch up. */
export const READ_MS = 10_000;
/** How often the cluster is asked how far it is. */
const ASK_EVERY_MS = 5_000;
/** After so long without listening, nobody knows when what comes next was said. */
const DEAF_MS = 1_000;
/** What comes sooner than this was there before it was asked for. */
const AT_ONCE_MS = 20;

/** Listens to a member, and asks it how far the cluster is, until the signal ends it. */
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
  throw new AgentError("SourceUnreachable", `${member.address} tells no more`);
}

async function ask(member: Followed, clock: Clock, signal: AbortSignal, inbox: Inbox<Word>): Promise<never> {
  for (;;) {
    const atMs = clock.wallMs();
    const revision = await member.revision({ signal, deadlineMs: READ_MS });
    await inbox.put({ kind: "reached", revision, atMs });
    await clock.sleep(ASK_EVERY_MS, signal);
  }
}
