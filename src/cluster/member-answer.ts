import type { Clock } from "#base/clock.ts";
import { type Observed, unknown } from "#base/observed.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import type { EndpointStatus, MemberId } from "#etcd/types.ts";

/** What one member says when it is asked how it is. */
export interface MemberAnswer {
  /** What it says at its client port. */
  readonly status: Observed<EndpointStatus>;
  /** Who it is, if its client port gave no answer and it passes etcd's own health check; see etcd/health-check.ts. */
  readonly passesAs: MemberId | undefined;
}

/** Where to ask. */
interface MemberAddresses {
  readonly client: Endpoint;
  /** Host and port. Undefined: it is asked at its client port only. */
  readonly metrics: string | undefined;
}

/** Longest that one member may take to answer, in milliseconds: a dead one must not hold up what the others say. */
export const MEMBER_DEADLINE_MS = 1_000;
/** After so long without an answer at the client port, in milliseconds, its health is asked for as well. */
const SILENT_AFTER_MS = 50;
/** Pause between two questions for its health, in milliseconds: a member that is starting may pass any moment. */
const AGAIN_MS = 100;

/**
 * Asks one member. Until etcd serves its client port it takes connections there and is silent, so the health check is asked beside
 * it. Nothing is cut off by that: a member that is only slow has all its time to answer.
 * @throws OperatorError Cancelled
 */
export async function memberAnswer(
  { etcd, clock }: { readonly etcd: EtcdClient; readonly clock: Clock },
  { client, metrics }: MemberAddresses,
  signal: AbortSignal,
): Promise<MemberAnswer> {
  if (metrics === undefined) {
    const status = await etcd.probe(client, { signal, deadlineMs: MEMBER_DEADLINE_MS });
    return { status, passesAs: undefined };
  }
  const heard = new AbortController();
  const either = AbortSignal.any([signal, heard.signal]);
  const endMs = clock.monotonicMs() + MEMBER_DEADLINE_MS;
  /** @returns undefined when it does not pass in what is left of its time */
  const passes = async (): Promise<MemberId | undefined> => {
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) return undefined;
    const health = await etcd.health(metrics, { signal: either, deadlineMs: leftMs });
    return health.is === "present" ? health.value : undefined;
  };
  const whileSilent = async (): Promise<MemberId> => {
    for (let pauseMs = SILENT_AFTER_MS; ; pauseMs = AGAIN_MS) {
      await clock.sleep(pauseMs, either);
      const id = await passes();
      if (id !== undefined) return id;
    }
  };
  const status = etcd.probe(client, { signal: either, deadlineMs: MEMBER_DEADLINE_MS });
  try {
    const first = await Promise.race([status, unlessCancelled(whileSilent())]);
    if (typeof first === "bigint") return { status: unknown("its client port is silent"), passesAs: first };
    return { status: first, passesAs: first.is === "present" ? undefined : await passes() };
  } finally {
    heard.abort();
    status.catch(() => undefined); // It was cancelled because the other port has told enough.
  }
}

/** This promise never settles when it is cancelled: the question at the client port is cancelled with it, and tells. */
function unlessCancelled<T>(promise: Promise<T>): Promise<T> {
  return new Promise((resolve) => promise.then(resolve, () => undefined));
}
