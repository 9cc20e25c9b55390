import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
import { test } from "vitest";
import { systemClock } from "./clock.ts";
import { deadline } from "./deadline.ts";

/** Echoes each word at once, whatever the thread of the test does. */
const SERVER = `
  const server = require("node:net").createServer((socket) => socket.pipe(socket));
  server.listen(0, "127.0.0.1", () => require("node:worker_threads").parentPort.postMessage(server.address().port));
`;

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("an answer that arrived while the process was frozen is read before its deadline expires", async () => {
  const worker = new Worker(SERVER, { eval: true });
  const [port] = (await once(worker, "message")) as [number];
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  try {
    const first = await new Promise((resolve) => {
      const cancel = deadline(systemClock, 50, () => resolve("deadline"));
      socket.once("data", () => {
        cancel();
        resolve("answer");
      });
      socket.write("ask");
      // The request leaves in this turn of the event loop; the process is frozen in the next one, for longer than the
      // deadline.
      setImmediate(() => standStill(300));
    });
    assert.equal(first, "answer");
  } finally {
    socket.destroy();
    await worker.terminate();
  }
});

test("a deadline without an answer expires, and a cancelled one does not", async () => {
  const expired: string[] = [];
  const begunAtMs = performance.now();
  const cancel = deadline(systemClock, 20, () => expired.push("cancelled"));
  cancel();
  await new Promise<void>((resolve) => deadline(systemClock, 40, resolve));
  assert.ok(performance.now() - begunAtMs >= 39);
  assert.deepEqual(expired, []);
});

test("a deadline that is cancelled in the turn of the event loop in which it is due does not expire", async () => {
  const expired: string[] = [];
  let cancel: () => void = () => undefined;
  // The timer is due, and is cancelled by what is read right after.
  await new Promise<void>((resolve) => {
    const after = (ms: number, run: () => void) =>
      systemClock.after(ms, () => {
        run();
        cancel();
        resolve();
      });
    cancel = deadline({ ...systemClock, after }, 5, () => expired.push("expired"));
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(expired, []);
});
