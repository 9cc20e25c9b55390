import { expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { present, unknown } from "#base/observed.ts";
import type { CallOptions, EtcdClient } from "#etcd/client.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { endpointStatus } from "#kit/snapshots/cluster.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { type MemberAnswer, memberAnswer } from "./member-answer.ts";

const ID = memberIdFromHex("abc");
const STATUS = endpointStatus("def", "abc", "abc");

/** Answers of a member at its ports, in milliseconds since the first call. */
interface Member {
  /** When it answers at its client port; undefined: never. */
  readonly answersAtMs?: number;
  /** When it refuses a connection to its client port. */
  readonly refusesAtMs?: number;
  /** Since when it passes its health check. */
  readonly passesFromMs?: number;
}

/** Dials the member. @returns its answer, and the calls with their times */
async function ask(
  member: Member,
  stopAtMs?: number,
): Promise<{ answer: MemberAnswer; asked: string[]; tookMs: number }> {
  const clock = new FakeClock(0);
  const stopped = new AbortController();
  const asked: string[] = [];
  const etcd: Partial<EtcdClient> = {
    async probe(_, { signal, deadlineMs = 0 }: CallOptions) {
      asked.push(`status at ${clock.monotonicMs()}`);
      const ends = [member.answersAtMs, member.refusesAtMs, deadlineMs].filter((ms) => ms !== undefined);
      await clock.sleep(Math.min(...ends), signal).catch(() => {
        throw new OperatorError("Cancelled", "stopped");
      });
      return clock.monotonicMs() === member.answersAtMs ? present(STATUS) : unknown("no answer");
    },
    health(_, { deadlineMs }) {
      asked.push(`health at ${clock.monotonicMs()} within ${deadlineMs}`);
      const doesPass = member.passesFromMs !== undefined && clock.monotonicMs() >= member.passesFromMs;
      return Promise.resolve(doesPass ? present(ID) : unknown("status 503"));
    },
  };
  let tookMs: number | undefined;
  const parts = { etcd: etcd as EtcdClient, clock };
  const addresses = { client: { address: "10.0.0.1:2379" }, metrics: "10.0.0.1:2381" };
  const answering = memberAnswer(parts, addresses, stopped.signal).finally(() => {
    tookMs = clock.monotonicMs();
  });
  answering.catch(() => undefined); // awaited below
  for (let ms = 0; ms < 2_000 && tookMs === undefined; ms += 10) {
    if (ms === stopAtMs) stopped.abort();
    await clock.advance(10);
  }
  return { answer: await answering, asked, tookMs: tookMs ?? Number.NaN };
}

test("member answer: a member that answers soon gets no health check", async () => {
  const { answer, asked } = await ask({ answersAtMs: 30, passesFromMs: 0 });
  expect(answer).toEqual({ status: present(STATUS), passesAs: undefined });
  expect(asked).toEqual(["status at 0"]);
});

test("member answer: a member with a silent client port is asked at its metrics port within 60 ms", async () => {
  const { answer, tookMs } = await ask({ passesFromMs: 0 });
  expect(answer.status.is).toBe("unknown");
  expect(answer.passesAs).toBe(ID);
  expect(tookMs).toBeLessThanOrEqual(60);
});

test("member answer: a health check is repeated until a starting member passes", async () => {
  const { answer, asked } = await ask({ passesFromMs: 200 });
  expect(answer.passesAs).toBe(ID);
  expect(asked).toEqual([
    "status at 0",
    "health at 50 within 950",
    "health at 150 within 850",
    "health at 250 within 750",
  ]);
});

test("member answer: a member that answers after 900 ms counts", async () => {
  const { answer, tookMs } = await ask({ answersAtMs: 900 });
  expect(answer).toEqual({ status: present(STATUS), passesAs: undefined });
  expect(tookMs).toBe(900);
});

test("member answer: a member that refuses connections gets one health check and no further wait", async () => {
  expect((await ask({ refusesAtMs: 10, passesFromMs: 0 })).answer.passesAs).toBe(ID);
  const { answer, asked, tookMs } = await ask({ refusesAtMs: 10 });
  expect(answer).toEqual({ status: unknown("no answer"), passesAs: undefined });
  expect(asked).toEqual(["status at 0", "health at 10 within 990"]);
  expect(tookMs).toBe(10);
});

test("member answer: a silent member is unknown after one second", async () => {
  const { answer, tookMs, asked } = await ask({});
  expect(answer).toEqual({ status: unknown("no answer"), passesAs: undefined });
  expect(tookMs).toBe(1_000);
  expect(asked.at(-1)).toBe("health at 950 within 50");
});

test("member answer: the caller's signal cancels the call", async () => {
  await expect(ask({}, 500)).rejects.toMatchObject({ code: "Cancelled" });
});
