import { expect, test } from "vitest";
import { meetMembers } from "#kit/hostile/meet-members.ts";
import { Flag, frame, GREETING, literal, type RawScript, Type } from "#kit/hostile/raw-http2.ts";

/** Headers that Node keeps with the stream, because their block never ends. */
const HEADERS = Buffer.concat([Buffer.from([0x88]), literal("a", "x".repeat(100)), literal("b", "y".repeat(100))]);

/** Headers that never end, followed by a flood of more or by the end of the connection. */
function unfinished(end: "flood" | "reset"): RawScript {
  return {
    onGreeted: (connection) => connection.send(GREETING),
    onRequest: (connection, stream) => {
      const more = frame(Type.continuation, Flag.none, stream, literal("c", "z".repeat(100)));
      connection.send(frame(Type.headers, Flag.none, stream, HEADERS), ...Array.from({ length: 5 }, () => more));
      if (end === "flood") connection.send(...Array.from({ length: 20 }, () => more));
      else setTimeout(() => connection.socket.resetAndDestroy(), 1);
    },
  };
}

test("the Node process does not abort when a member sends headers without an end", {
  timeout: 300_000,
}, async () => {
  const hostile = (["status", "put", "snapshot"] as const).flatMap((call) =>
    (["flood", "reset"] as const).map((end) => ({
      name: `${call}, ${end}`,
      call,
      times: 200,
      script: unfinished(end),
    })),
  );
  const { end, met, endedAt } = await meetMembers(hostile, 500);
  expect(endedAt).toBeUndefined();
  expect(end).toMatchObject({ code: 0, signal: null });
  expect(met.map(({ name }) => name)).toEqual(hostile.map(({ name }) => name));
});
