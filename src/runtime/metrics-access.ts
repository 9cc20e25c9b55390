import { createHmac, randomBytes } from "node:crypto";
import type { Clock } from "#base/clock.ts";
import { asOperatorError } from "#base/error.ts";
import type { Bearer } from "#kube/access-review.ts";
import { type RateLimits, TokenBucket } from "#kube/rate.ts";

// What may somebody cost who reaches the port and has no right?
//   A review for each token that nobody has shown before, and of these only so many in a second. Whoever was let in before is not held up by
//   it: what is remembered of them has room of its own, and asking for them again is not counted.
// For how long does an answer count?
//   Shortly: a right that is taken away, or a token that has ended, is noticed within a minute.

/** What is remembered of a token, in milliseconds. */
const ALLOWED_MS = 60_000;
const REFUSED_MS = 10_000;
/** Tokens that are remembered, of either kind. A Prometheus has one, and another one within the hour. */
const MAX_REMEMBERED = 64;
/** Reviews of tokens that were not let in before. */
const STRANGERS: RateLimits = { qps: 5, burst: 20 };
/** A review takes milliseconds; whoever asks for metrics waits ten seconds as a rule. In milliseconds. */
const REVIEW_WITHIN_MS = 5_000;
/** Others may wait for the same review, so it goes on when who asked first has gone. */
const NEVER = new AbortController().signal;
/** Longer than any token of Kubernetes. */
const MAX_TOKEN_LENGTH = 8_192;

/** What a request for metrics is answered. */
export interface Answer {
  readonly status: 200 | 401 | 403 | 429 | 503;
  /** For people; empty with 200. */
  readonly because: string;
}

export interface Reviews {
  /** @returns undefined when nobody knows the token */
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

/** Says who may read the metrics, by the word of the API server. Tokens themselves are not kept. */
export class MetricsAccess {
  readonly #reviews: Reviews;
  readonly #clock: Clock;
  readonly #strangers: TokenBucket;
  /** Of no use for anybody else, and gone with the process. */
  readonly #secret = randomBytes(32);
  readonly #allowed = new Map<string, Remembered>();
  readonly #refused = new Map<string, Remembered>();
  readonly #underWay = new Map<string, Promise<Answer>>();

  constructor(reviews: Reviews, clock: Clock) {
    this.#reviews = reviews;
    this.#clock = clock;
    this.#strangers = new TokenBucket(clock, STRANGERS);
  }

  /** Never throws. @param authorization the header of this name */
  async answer(authorization: string | undefined): Promise<Answer> {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined || token.length > MAX_TOKEN_LENGTH)
      return { status: 401, because: "metrics are shown to who sends a token: Authorization: Bearer TOKEN" };
    const id = createHmac("sha256", this.#secret).update(token).digest("base64");
    const known = this.#allowed.get(id) ?? this.#refused.get(id);
    if (known !== undefined && this.#clock.monotonicMs() < known.untilMs) return known.answer;
    const underWay = this.#underWay.get(id);
    if (underWay !== undefined) return await underWay;
    if (!this.#allowed.has(id) && !this.#strangers.tryTake())
      return { status: 429, because: "too many tokens that nobody knows were shown; try again in a moment" };
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
    at.delete(id); // so that it is the youngest
    at.set(id, { answer, untilMs: this.#clock.monotonicMs() + (isAllowed ? ALLOWED_MS : REFUSED_MS) });
    for (const oldest of at.keys()) if (at.size > MAX_REMEMBERED) at.delete(oldest);
  }
}
