import { createHmac, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Clock } from "#base/clock.ts";
import { asOperatorError } from "#base/error.ts";
import type { Bearer } from "#kube/access-review.ts";
import { type RateLimits, TokenBucket } from "#kube/rate.ts";

// How much can a client without the right to read metrics cost?
//   One TokenReview for each new token, at a limited rate. Clients that were allowed before are not affected: their
//   results have a cache of their own, and their reviews do not count.
// How long is a result cached?
//   Briefly: a revoked right, or an expired token, takes effect within a minute.

/** How long a result for a token is cached, in milliseconds. */
const ALLOWED_MS = 60_000;
const REFUSED_MS = 10_000;
/** Cached tokens, of either kind. A Prometheus has one at a time, and renews it within the hour. */
const MAX_REMEMBERED = 64;
/** Limit on the reviews of tokens that were not allowed before. */
const STRANGERS: RateLimits = { qps: 5, burst: 20 };
/** A review takes milliseconds; a scrape usually waits ten seconds. In milliseconds. */
const REVIEW_WITHIN_MS = 5_000;
/** The review continues when the first client disconnects, since others may wait for it. */
const NEVER = new AbortController().signal;
/** Longer than any token of Kubernetes. */
const MAX_TOKEN_LENGTH = 8_192;

/** The answer to a request for metrics. */
export interface Answer {
  readonly status: 200 | 401 | 403 | 429 | 503;
  /** Reason for the client; empty with 200. */
  readonly because: string;
}

export interface Reviews {
  /** @returns undefined when the API server does not know the token */
  readonly bearerOf: (
    token: string,
    options: { signal: AbortSignal; deadlineMs: number },
  ) => Promise<Bearer | undefined>;
  readonly mayRead: (bearer: Bearer, options: { signal: AbortSignal; deadlineMs: number }) => Promise<boolean>;
}

interface Remembered {
  readonly answer: Answer;
  readonly untilMs: number;
}

/**
 * Decides which users may read the metrics, with TokenReview and SubjectAccessReview. Tokens themselves are not stored.
 */
export class MetricsAccess {
  readonly #reviews: Reviews;
  readonly #clock: Clock;
  readonly #strangers: TokenBucket;
  /** Key for hashing tokens; never leaves the process. */
  readonly #secret = randomBytes(32);
  readonly #allowed = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  readonly #refused = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  readonly #underWay = new Map<string, Promise<Answer>>();

  constructor(reviews: Reviews, clock: Clock) {
    this.#reviews = reviews;
    this.#clock = clock;
    this.#strangers = new TokenBucket(clock, STRANGERS);
  }

  /** Never throws. @param authorization value of the Authorization header */
  async answer(authorization: string | undefined): Promise<Answer> {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined || token.length > MAX_TOKEN_LENGTH)
      return { status: 401, because: "a token is required: Authorization: Bearer TOKEN" };
    const id = createHmac("sha256", this.#secret).update(token).digest("base64");
    const known = this.#allowed.get(id) ?? this.#refused.get(id);
    if (known !== undefined && this.#clock.monotonicMs() < known.untilMs) return known.answer;
    const underWay = this.#underWay.get(id);
    if (underWay !== undefined) return await underWay;
    if (!this.#allowed.has(id) && !this.#strangers.tryTake())
      return { status: 429, because: "too many requests with unknown tokens; try again in a moment" };
    const asking = this.#ask(id, token).finally(() => this.#underWay.delete(id));
    this.#underWay.set(id, asking);
    return await asking;
  }

  async #ask(id: string, token: string): Promise<Answer> {
    try {
      const answer = await this.#reviewed(token, { signal: NEVER, deadlineMs: REVIEW_WITHIN_MS });
      this.#remember(id, answer);
      return answer;
    } catch (thrown) {
      const { message } = asOperatorError(thrown);
      return { status: 503, because: `the API server could not be asked whether you may read metrics: ${message}` };
    }
  }

  async #reviewed(token: string, options: { signal: AbortSignal; deadlineMs: number }): Promise<Answer> {
    const bearer = await this.#reviews.bearerOf(token, options);
    if (bearer === undefined) return { status: 401, because: "the API server does not know this token" };
    if (await this.#reviews.mayRead(bearer, options)) return { status: 200, because: "" };
    return { status: 403, because: `${bearer.username} may not get the path /metrics` };
  }

  #remember(id: string, answer: Answer): void {
    const isAllowed = answer.status === 200;
    const [at, other] = isAllowed ? [this.#allowed, this.#refused] : [this.#refused, this.#allowed];
    other.delete(id);
    at.set(id, { answer, untilMs: this.#clock.monotonicMs() + (isAllowed ? ALLOWED_MS : REFUSED_MS) });
  }
}
