import { expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { present } from "#base/observed.ts";
import { ToyController, toyTools } from "#kit/tables/toy-controller.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeObject } from "#kube/kinds.ts";
import { ControlLoop, type WakingCache } from "#runtime/control-loop.ts";
import type { Key } from "#runtime/controller.ts";
import { wait } from "#runtime/decide.ts";
import { PLACES_PER_WORKER } from "#runtime/places.ts";
import type { Stage } from "#runtime/urgency.ts";

const START_MS = 0;
const WORKERS = 100;
const GOOD = 950;
const GOOD_MS = 20;
const REST_MS = 10_000;

/** Good keys get a pass every ten seconds, which takes a moment; bad keys hang and then fail. */
class Hanging extends ToyController {
  /** How long each pass of a good key was waited for, in milliseconds. */
  readonly waits: number[] = [];
  /** Greatest number of passes side by side. */
  most = 0;
  #now = 0;
  readonly #dueMs = new Map<string, number>();
  readonly #clock: FakeClock;
  readonly #badMs: number;

  constructor(clock: FakeClock, badMs: number, badStage: Stage) {
    super();
    this.#clock = clock;
    this.#badMs = badMs;
    this.stageOf = ({ name }) => (name.startsWith("bad") ? badStage : "settled");
    this.next = { rule: "rest", ...wait("there is nothing to do", REST_MS) };
  }

  override async observe({ namespace, name }: Key) {
    const isGood = name.startsWith("good");
    const key = `${namespace}/${name}`;
    const startedMs = this.#clock.monotonicMs();
    if (isGood) this.waits.push(startedMs - (this.#dueMs.get(key) ?? START_MS));
    this.#now += 1;
    this.most = Math.max(this.most, this.#now);
    await this.#clock.sleep(isGood ? GOOD_MS : this.#badMs);
    this.#now -= 1;
    this.#dueMs.set(key, this.#clock.monotonicMs() + REST_MS);
    if (!isGood) throw new OperatorError("KubeUnavailable", "a webhook did not answer");
    return present(1);
  }
}

/**
 * Three rounds of the good keys; the bad ones are queued before them. @param apartMs interval between the arrivals of
 * bad namespaces
 */
async function threeRounds(bad: readonly Key[], { badMs = 10_000, badStage = "settled" as Stage, apartMs = 0 } = {}) {
  const clock = new FakeClock(START_MS, 2);
  const { tools } = toyTools({ clock });
  const controller = new Hanging(clock, badMs, badStage);
  const good = Array.from({ length: GOOD }, (_, n) => ({ namespace: "good", name: `good-${n}` }));
  const cache: WakingCache = {
    onChange(listener) {
      for (const [n, namespace] of [...new Set(bad.map((key) => key.namespace))].entries())
        for (const metadata of bad.filter((key) => key.namespace === namespace))
          clock.after(n * apartMs, () => listener({ object: { metadata } as KubeObject }));
      return () => undefined;
    },
  };
  const keysFor = ({ metadata: { namespace = "", name } }: KubeObject) => [{ namespace, name }];
  const watches = apartMs > 0 ? [{ cache, keysFor }] : [];
  const allKeys = () => (apartMs > 0 ? good : [...bad, ...good]);
  const loop = new ControlLoop({ controller, watches, allKeys, tools });
  const stop = new AbortController();
  const running = loop.run(stop.signal, WORKERS);
  await clock.advance(3 * REST_MS);
  stop.abort();
  await clock.advance(20_000);
  await running;
  return { looks: controller.waits.length, longestMs: Math.max(...controller.waits), most: controller.most };
}

function badOnes(count: number, namespaceOf: (n: number) => string): readonly Key[] {
  return Array.from({ length: count }, (_, n) => ({ namespace: namespaceOf(n), name: `bad-${n}` }));
}

/** What hangs, and the longest wait of any other key, in milliseconds. */
const storms: Readonly<Record<string, readonly [readonly Key[], number, Parameters<typeof threeRounds>[1]?]>> = {
  "150 of a namespace of their own": [badOnes(150, () => "bad"), 500],
  "150 of the same namespace": [badOnes(150, () => "good"), 1_500],
  "150 of a namespace each": [badOnes(150, (n) => `bad-${n}`), 1_500],
  "1,000 of one namespace": [badOnes(1_000, () => "bad"), 500],
  "1,000 of one namespace, each of which is more urgent": [badOnes(1_000, () => "bad"), 500, { badStage: "finishing" }],
  "1,000 of three namespaces, each of which is more urgent": [
    badOnes(1_000, (n) => `bad-${n % 3}`),
    3_000,
    { badStage: "finishing" },
  ],
  "1,000 of one namespace, each for less than a pass may take": [badOnes(1_000, () => "bad"), 1_000, { badMs: 950 }],
  "1,500 of six namespaces, each of which arrives when the one before has all its slots": [
    badOnes(1_500, (n) => `bad-${n % 6}`),
    3_000,
    { apartMs: 1_500, badMs: 15_000 },
  ],
};

test.each(Object.entries(storms))("hanging passes: %s do not delay other keys", async (_, [bad, boundMs, how]) => {
  const { looks, longestMs, most } = await threeRounds(bad, how);
  expect(longestMs).toBeLessThanOrEqual(boundMs);
  expect(looks).toBe(3 * GOOD);
  expect(most).toBeLessThanOrEqual(PLACES_PER_WORKER * WORKERS);
});
