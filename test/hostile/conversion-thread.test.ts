import { afterEach, expect, test } from "vitest";
import { silentLog } from "#base/log.ts";
import { MAX_BLOCKED_MS } from "#kit/hostile/cost.ts";
import { clusterWith, conversionOf, SHAPES } from "#kit/hostile/webhooks.ts";
import { RefusedBody } from "#webhooks/body.ts";
import { ConversionThread } from "#webhooks/conversion-thread.ts";

// The thread alone, without the server's limits.

const ASKED = new AbortController().signal;
const HONEST = conversionOf(clusterWith("{}"));

let thread = new ConversionThread(silentLog);
afterEach(async () => {
  await thread.close();
  thread = new ConversionThread(silentLog);
});

/** Bytes with a buffer of their own, which the thread takes over. */
function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text));
}

async function answered(text: string, from = "a", signal = ASKED): Promise<string> {
  return Buffer.from(await thread.answer(bytes(text), from, signal)).toString();
}

test.each(["open lists", "objects with keys of their own"])(
  "the conversion thread ends on too large %s, and a new thread answers",
  async (shape) => {
    expect(await answered(HONEST)).toContain('"Success"');
    const body = bytes(SHAPES[shape]!(48 * 1024 * 1024));
    const before = process.threadCpuUsage();
    await expect(thread.answer(body, "a", ASKED)).rejects.toBeInstanceOf(RefusedBody);
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(MAX_BLOCKED_MS);
    expect(await answered(HONEST)).toContain('"Success"');
  },
);

test("the conversion thread serves client addresses in turn, also when one address has queued many requests", async () => {
  const order: string[] = [];
  const ask = async (name: string, from: string): Promise<void> => {
    await answered(HONEST, from);
    order.push(name);
  };
  await Promise.all([ask("a1", "a"), ask("a2", "a"), ask("a3", "a"), ask("a4", "a"), ask("b1", "b"), ask("b2", "b")]);
  expect(order).toEqual(["a1", "a2", "b1", "a3", "b2", "a4"]);
});

test("the conversion thread skips a request when the client has disconnected", async () => {
  const gone = new AbortController();
  const first = answered(HONEST);
  let isAnswered = false;
  void answered(HONEST, "b", gone.signal).then(() => {
    isAnswered = true;
  });
  gone.abort();
  await Promise.all([first, answered(HONEST, "c")]);
  expect(isAnswered).toBe(false);
});

test("the conversion thread refuses a body without a valid request, gives the reason, and continues", async () => {
  await expect(answered("[")).rejects.toMatchObject({ status: 400, message: expect.stringContaining("not JSON") });
  await expect(answered("{}")).rejects.toMatchObject({ status: 400, message: expect.stringContaining("apiVersion") });
  expect(await answered(HONEST)).toContain('"Success"');
});
