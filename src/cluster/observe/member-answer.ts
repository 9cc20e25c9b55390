import type { Clock } from "#base/clock.ts";
import { type Observed, unknown } from "#base/observed.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import type { EndpointStatus, MemberId } from "#etcd/types.ts";

/** The answer of one member. */
export interface MemberAnswer {
  /** The status from its client port. */
  readonly status: Observed<EndpointStatus>;
  /** Its ID, if its client port is silent and it passes etcd's own health check; see etcd/health-check.ts. */
  readonly passesAs: MemberId | undefined;
}

/** The addresses of a member. */
interface MemberAddresses {
  readonly client: Endpoint;
  /** Host and port. Undefined: only the client port is queried. */
  readonly metrics: string | undefined;
}

/**
 * Deadline for one member, in milliseconds. Longer: a dead member would delay the answers of the others. Shorter: a
 * slow member would count as unhealthy.
 */
export const MEMBER_DEADLINE_MS = 1_000;
/**
 * Silence of the client port after which the health check starts too, in milliseconds. Shorter: more requests to
 * healthy members. Longer: less time for the health check.
 */
const SILENT_AFTER_MS = 50;
/** Pause between two health checks, in milliseconds: a starting member may pass at any moment. */
const AGAIN_MS = 100;

/**
 * Queries one member. Until etcd serves its client port, it accepts connections there and stays silent, so the health
 * check runs in parallel. A slow member still has the whole time to answer.
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
  /** @returns undefined when the health check does not pass in the remaining time */
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
    status.catch(() => undefined); // Cancelled because the other port has answered.
  }
}

/** Never settles when cancelled: the query of the client port is cancelled too, and reports it. */
function unlessCancelled<T>(promise: Promise<T>): Promise<T> {
  return new Promise((resolve) => promise.then(resolve, () => undefined));
}
