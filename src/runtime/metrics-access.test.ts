import { describe, expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { MetricsAccess } from "./metrics-access.ts";

/** Reviews where the given tokens may read the metrics; every other token that begins with "user" is known. */
function reviewed(readers: readonly string[] = ["reader"]) {
  const clock = new FakeClock();
  const asked: string[] = [];
  let failure: Error | undefined;
  const reviews = {
    bearerOf: (token: string) => {
      asked.push(token);
      if (failure !== undefined) return Promise.reject(failure);
      const isKnown = token.startsWith("user") || token.startsWith("reader");
      return Promise.resolve(isKnown ? { username: `name of ${token}` } : undefined);
    },
    mayRead: ({ username }: { username: string }) =>
      Promise.resolve(readers.some((each) => username.startsWith(`name of ${each}`))),
  };
  const access = new MetricsAccess(reviews, clock);
  const status = async (token: string) => (await access.answer(`Bearer ${token}`)).status;
  return { clock, asked, access, status, fail: (error: Error | undefined) => (failure = error) };
}

test("a permitted user may read metrics, another user is named in the refusal, and an unknown token is refused", async () => {
  const { access } = reviewed();
  expect(await access.answer("Bearer reader")).toEqual({ status: 200, because: "" });
  const forbidden = await access.answer("bearer user");
  expect(forbidden.status).toBe(403);
  expect(forbidden.because).toContain("name of user may not get the path /metrics");
  expect(await access.answer("Bearer nobody")).toEqual({
    status: 401,
    because: "the API server does not know this token",
  });
});

test.each([undefined, "", "Bearer", "Bearer ", "Basic abc", "Bearer a b", `Bearer ${"a".repeat(8_193)}`])(
  "a request with header Authorization %s is refused without a review by the API server",
  async (header) => {
    const { access, asked } = reviewed();
    expect((await access.answer(header)).status).toBe(401);
    expect(asked).toEqual([]);
  },
);

describe("the API server's answer to a token is cached", () => {
  test("for a minute when it permits", async () => {
    const { clock, asked, status } = reviewed();
    for (const ms of [0, 59_999]) {
      await clock.advance(ms);
      expect(await status("reader")).toBe(200);
    }
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    expect(await status("reader")).toBe(200);
    expect(asked).toHaveLength(2);
  });

  test("for ten seconds when it refuses", async () => {
    const readers: string[] = [];
    const { clock, asked, status } = reviewed(readers);
    expect([await status("user"), await status("stranger")]).toEqual([403, 401]);
    readers.push("user");
    await clock.advance(9_999);
    expect([await status("user"), await status("stranger")]).toEqual([403, 401]);
    expect(asked).toHaveLength(2);
    await clock.advance(1);
    expect([await status("user"), await status("stranger")]).toEqual([200, 401]);
  });

  test("not at all when the API server does not answer, and the response states why", async () => {
    const { access, asked, status, fail } = reviewed();
    fail(new OperatorError("KubeUnavailable", "no answer within 5000 ms"));
    const { status: code, because } = await access.answer("Bearer reader");
    expect(code).toBe(503);
    expect(because).toBe("the API server could not be asked whether you may read metrics: no answer within 5000 ms");
    fail(undefined);
    expect(await status("reader")).toBe(200);
    expect(asked).toHaveLength(2);
  });

  test("for so short that a revoked token is refused within a minute", async () => {
    const readers = ["reader"];
    const { clock, status } = reviewed(readers);
    expect(await status("reader")).toBe(200);
    readers.length = 0;
    await clock.advance(60_000);
    expect(await status("reader")).toBe(403);
    readers.push("reader");
    await clock.advance(10_000);
    expect(await status("reader")).toBe(200);
  });
});

test("a token that lost its permission is cached as refused, and is limited like an unknown token", async () => {
  const readers = ["reader"];
  const { clock, asked, status } = reviewed(readers);
  expect(await status("reader")).toBe(200);
  readers.length = 0;
  await clock.advance(60_000);
  expect([await status("reader"), await status("reader")]).toEqual([403, 403]);
  expect(asked).toHaveLength(2);
  await clock.advance(10_000);
  for (let n = 0; n < 20; n++) await status(`stranger-${n}`);
  expect(await status("reader")).toBe(429);
});

test("concurrent requests with one token cause one review", async () => {
  const { asked, status } = reviewed();
  expect(await Promise.all([status("reader"), status("reader"), status("reader")])).toEqual([200, 200, 200]);
  expect(asked).toEqual(["reader"]);
});

describe("a client that sends many unknown tokens", () => {
  test("causes twenty reviews, then five per second, and gets status 429 for the rest", async () => {
    const { clock, asked, status } = reviewed();
    const flood = async (name: string) =>
      await Promise.all(Array.from({ length: 1_000 }, (_, n) => status(`${name}-${n}`)));
    const answers = await flood("stranger");
    expect(asked).toHaveLength(20);
    expect(answers.filter((each) => each === 429)).toHaveLength(980);
    await clock.advance(1_000);
    await flood("user");
    expect(asked).toHaveLength(25);
  });

  test("does not delay tokens that were permitted before", async () => {
    const { clock, asked, status } = reviewed();
    expect(await status("reader")).toBe(200);
    await clock.advance(60_000);
    for (let n = 0; n < 200; n++) await status(`stranger-${n}`);
    expect(await status("another")).toBe(429);
    expect(await status("reader")).toBe(200);
    expect(asked.filter((each) => each === "reader")).toHaveLength(2);
  });

  test("cannot fill the cache beyond sixty-four tokens", async () => {
    const { clock, asked, status } = reviewed(["reader", "user"]);
    for (let n = 0; n < 65; n++) {
      expect(await status(`user-${n}`)).toBe(200);
      await clock.advance(200);
    }
    asked.length = 0;
    await status("user-64");
    await status("user-1");
    expect(asked).toEqual([]);
    await status("user-0");
    expect(asked).toEqual(["user-0"]);
  });
});
