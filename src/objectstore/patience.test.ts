import { expect, test } from "vitest";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { StoreError, type StoreReason } from "./error.ts";
import { translator } from "./failure.ts";
import { PATIENCE, type Patience, Requests, sendMs } from "./patience.ts";

const never = new AbortController().signal;

/** Outcome of a request with attempts that end like this; the last outcome repeats. Each attempt takes `attemptMs`. */
async function outcomeOf(
  outcomes: readonly (StoreReason | "ok" | "hangs")[],
  change: Partial<Patience> = {},
  attemptMs = 0,
) {
  const clock = new FakeClock();
  const requests = new Requests({ ...PATIENCE, ...change }, translator([]), clock);
  const atMs: number[] = [];
  const sinceMs = clock.monotonicMs();
  const made = requests.make("put a", 60_000, never, async () => {
    atMs.push(clock.monotonicMs() - sinceMs);
    const outcome = outcomes[Math.min(atMs.length, outcomes.length) - 1];
    if (outcome === "hangs") return await new Promise<string>(() => {});
    if (attemptMs > 0) await clock.sleep(attemptMs);
    if (outcome === "ok") return "ok";
    throw new StoreError(outcome ?? "Other", "no");
  });
  const ended = made.catch((thrown: StoreError) => thrown.reason);
  await clock.advance(3_600_000);
  return { outcome: await ended, attempts: atMs.length, atMs };
}

test.each(["WrongCredentials", "AccessDenied", "NoSuchBucket", "ObjectExists", "NoSpace", "TLS", "Other"] as const)(
  "retries: %s is a lasting failure, so there is one attempt",
  async (reason) => {
    expect(await outcomeOf([reason])).toMatchObject({ outcome: reason, attempts: 1 });
  },
);

test("retries: temporary failures are retried until an attempt succeeds", async () => {
  expect(await outcomeOf(["Unreachable", "Timeout", "ok"])).toMatchObject({ outcome: "ok", attempts: 3 });
});

test("retries: a request to a store that never answered has five attempts, with growing and partly random pauses", async () => {
  const { outcome, attempts, atMs } = await outcomeOf(["Unreachable"]);
  expect({ outcome, attempts }).toEqual({ outcome: "Unreachable", attempts: 5 });
  const pauses = atMs.slice(1).map((each, index) => each - (atMs[index] ?? 0));
  for (const [index, mostMs] of [1000, 2000, 4000, 8000].entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(mostMs / 2);
    expect(pauses[index]).toBeLessThanOrEqual(mostMs);
  }
});

test("retries: what the platform may still provide is awaited like a store that never answered", async () => {
  const attemptsOf = async (mayPass: boolean) => {
    const clock = new FakeClock();
    const requests = new Requests(PATIENCE, translator([]), clock);
    let attempts = 0;
    const made = requests.make("put a", 60_000, never, () => {
      attempts += 1;
      return Promise.reject(new StoreError("WrongCredentials", "no token file", { mayPass }));
    });
    const ended = made.catch((thrown: StoreError) => thrown.reason);
    await clock.advance(3_600_000);
    return [await ended, attempts];
  };
  expect(await attemptsOf(true)).toEqual(["WrongCredentials", 5]);
  expect(await attemptsOf(false)).toEqual(["WrongCredentials", 1]);
});

test("retries: an attempt that hangs ends at its deadline, and is retried", async () => {
  const { outcome, attempts, atMs } = await outcomeOf(["hangs", "ok"]);
  expect({ outcome, attempts }).toEqual({ outcome: "ok", attempts: 2 });
  expect(atMs[1]).toBeGreaterThanOrEqual(60_000);
});

test("retries: a request that hangs at every attempt fails with Timeout in bounded time", async () => {
  const { outcome, attempts, atMs } = await outcomeOf(["hangs"], { attempts: 100 });
  expect({ outcome, attempts }).toEqual({ outcome: "Timeout", attempts: 3 });
  expect(atMs.at(-1)).toBeLessThan(PATIENCE.giveUpMs);
});

test.each(["ok", "AccessDenied"] as const)(
  "retries: a store that answered %s before is asked again for minutes, and then given up",
  async (first) => {
    const clock = new FakeClock();
    const requests = new Requests(PATIENCE, translator([]), clock);
    const ask = (answer: StoreReason | "ok") => {
      const answered = answer === "ok" ? Promise.resolve("ok") : Promise.reject(new StoreError(answer, "no"));
      return requests.make("put a", 60_000, never, () => answered).catch((thrown: StoreError) => thrown.reason);
    };
    expect(await ask(first)).toBe(first);
    const sinceMs = clock.monotonicMs();
    const isAway = () => clock.monotonicMs() - sinceMs < 120_000;
    const outage = requests.make("put a", 60_000, never, () =>
      isAway() ? Promise.reject(new StoreError("Unreachable", "no")) : Promise.resolve("ok"),
    );
    await clock.advance(140_000);
    expect(await outage).toBe("ok");
    let isOver = false;
    const lasting = ask("Unreachable").finally(() => {
      isOver = true;
    });
    await clock.advance(PATIENCE.giveUpMs - 1_000);
    expect(isOver).toBe(false);
    await clock.advance(12_000);
    expect(await lasting).toBe("Unreachable");
  },
);

test("retries: the caller's signal cancels a running attempt, or the pause after one", async () => {
  for (const outcome of ["hangs", "Unreachable"] as const) {
    const clock = new FakeClock();
    const requests = new Requests({ ...PATIENCE, attempts: 1000 }, translator([]), clock);
    const controller = new AbortController();
    let seen: AbortSignal | undefined;
    const made = requests.make("put a", 60_000, controller.signal, (signal) => {
      seen = signal;
      if (outcome === "hangs") return new Promise(() => {});
      return Promise.reject(new StoreError(outcome, "no"));
    });
    const ended = made.catch((thrown: StoreError) => `${thrown.reason}: ${thrown.message}`);
    await clock.advance(500);
    controller.abort();
    expect(await ended).toBe("Aborted: put a: it was aborted");
    if (outcome === "hangs") expect(seen?.aborted).toBe(true);
  }
});

test("retries: an attempt's deadline grows with the size of the part", () => {
  expect(sendMs(PATIENCE, 0)).toBe(60_000);
  expect(sendMs(PATIENCE, 8 * 1024 ** 2)).toBe(60_000 + 128_000);
});
