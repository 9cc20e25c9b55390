import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { type Log, silentLog } from "#base/log.ts";
import { ConversionThread } from "#webhooks/conversion-thread.ts";

const ASKED = new AbortController().signal;

/** A worker that echoes each request. */
function echo(): Worker {
  const worker: EventEmitter = Object.assign(new EventEmitter(), {
    unref: () => undefined,
    postMessage: (body: Uint8Array) => void setImmediate(() => worker.emit("message", { is: "answer", body })),
    terminate: () => Promise.resolve(worker.emit("exit", 1)),
  });
  return worker as Worker;
}

/** Fails so often before it starts a worker, as at a limit of processes. */
function failing(times: number): () => Worker {
  let left = times;
  return () => {
    if (left === 0) return echo();
    left--;
    throw new Error("ERR_WORKER_INIT_FAILED: EAGAIN");
  };
}

/** Collects the messages of warnings. */
function warningsIn(warnings: string[]): Log {
  return { ...silentLog, warn: (_fields, message) => void warnings.push(message) };
}

test("a thread that does not start fails only its own request, and the next request starts another thread", async () => {
  const thread = new ConversionThread(silentLog, failing(1));
  await expect(thread.answer(Uint8Array.of(1), "a", ASKED)).rejects.toMatchObject({
    code: "Bug",
    message: expect.stringContaining("EAGAIN"),
  });
  expect(await thread.answer(Uint8Array.of(2), "a", ASKED)).toEqual(Uint8Array.of(2));
  await thread.close();
});

test("waiting requests fail when a thread has ended and the next does not start", async () => {
  const workers = [echo(), undefined, undefined, echo()];
  const thread = new ConversionThread(silentLog, () => {
    const worker = workers.shift();
    if (worker === undefined) throw new Error("EAGAIN");
    return worker;
  });
  const [first] = workers;
  const questions = [1, 2, 3, 4].map((n) => thread.answer(Uint8Array.of(n), "a", ASKED));
  first?.emit("error", new Error("it broke"));
  const outcomes = await Promise.allSettled(questions);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected", "fulfilled"]);
  await thread.close();
});

test("the conversion thread ends without a warning when the operator stops", async () => {
  const warnings: string[] = [];
  const thread = new ConversionThread(warningsIn(warnings), failing(0));
  await thread.answer(Uint8Array.of(1), "a", ASKED);
  await thread.close();
  expect(warnings).toEqual([]);
});
