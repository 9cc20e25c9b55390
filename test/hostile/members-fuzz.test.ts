import { expect, test } from "vitest";
import { MAX_BLOCKED_MS, MAX_MEMORY_MB } from "#kit/hostile/cost.ts";
import { type Hostile, meetMembers } from "#kit/hostile/meet-members.ts";
import type { CallName } from "#kit/hostile/member-calls.ts";
import { fuzzedFrames, fuzzedGreeting, mutated, VALID } from "#kit/hostile/member-fuzz.ts";
import { dataFrames, Flag, frame, GRPC_HEAD, GRPC_OK, message, type RawScript, Type } from "#kit/hostile/raw-http2.ts";
import { Random } from "#kit/world/random.ts";

/** The default repeats the same cases. HOSTILE_SEED selects other cases, and a failure names the seed. */
const SEED = Number(process.env.HOSTILE_SEED ?? 20_261_128);

/** Number of answers and of connections for each call. */
const ANSWERS = 200;
const CONNECTIONS = 100;
const DEADLINE_MS = 300;

/** Answers with a mutated message and a correct end of the stream. */
function mutatedAnswers(valid: Buffer, random: Random): RawScript {
  return {
    onRequest: (connection, stream) =>
      connection.send(
        frame(Type.headers, Flag.endHeaders, stream, GRPC_HEAD),
        dataFrames(stream, message(mutated(valid, random))),
        frame(Type.headers, Flag.endHeaders | Flag.endStream, stream, GRPC_OK),
      ),
  };
}

/** Answers with nearly correct frames, in one or two pieces, and sometimes closes the connection. */
function fuzzedConnections(valid: Buffer, random: Random): RawScript {
  return {
    onGreeted: (connection) => connection.send(fuzzedGreeting(random)),
    onRequest: (connection, stream) => {
      const frames = fuzzedFrames(stream, valid, random);
      const cut = random.below(frames.length);
      connection.send(frames.subarray(0, cut));
      const isLast = random.chance(0.5);
      setTimeout(() => {
        connection.send(frames.subarray(cut));
        if (isLast) connection.socket.destroySoon();
      }, random.below(3));
    },
  };
}

async function meet(script: (valid: Buffer, random: Random) => RawScript, times: number): Promise<void> {
  const hostile: Hostile[] = [...VALID].map(([call, valid]: [CallName, Buffer], at) => ({
    name: call,
    call,
    times,
    script: script(valid, new Random(SEED + at)),
  }));
  const { end, met, endedAt } = await meetMembers(hostile, DEADLINE_MS);
  const seed = `HOSTILE_SEED=${SEED}`;
  expect({ seed, endedAt }).toEqual({ seed, endedAt: undefined });
  expect({ seed, code: end.code, signal: end.signal }).toEqual({ seed, code: 0, signal: null });
  const surprises = met.flatMap(({ name, failures }) =>
    failures.filter((text) => text.startsWith("surprise")).map((text) => `${name}: ${text}`),
  );
  expect({ seed, surprises }).toEqual({ seed, surprises: [] });
  const slow = met.filter(({ blockedMs }) => blockedMs > MAX_BLOCKED_MS);
  expect({ seed, slow }).toEqual({ seed, slow: [] });
  expect(end.peakMb).toBeLessThan(MAX_MEMORY_MB);
}

test("a mutated answer is reported as an error of the member, or is accepted", {
  timeout: 300_000,
}, async () => {
  await meet(mutatedAnswers, ANSWERS);
});

test("faulty HTTP/2 frames of a member end the call and not the process", { timeout: 300_000 }, async () => {
  await meet(fuzzedConnections, CONNECTIONS);
});
