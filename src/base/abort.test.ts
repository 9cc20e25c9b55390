import { expect, test } from "vitest";
import { unlessAborted } from "./abort.ts";

test("a promise settles as it does without a signal", async () => {
  const { signal } = new AbortController();
  expect(await unlessAborted(Promise.resolve(7), signal)).toBe(7);
  await expect(unlessAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
});

test.each([
  ["the signal's reason", undefined, "enough"],
  ["another reason", () => new Error("stopped"), "stopped"],
])("an abort rejects at once with %s, before or during the work", async (_, reason, message) => {
  const stop = new AbortController();
  const waiting = unlessAborted(new Promise(() => undefined), stop.signal, reason);
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow(message);
  await expect(unlessAborted(new Promise(() => undefined), stop.signal, reason)).rejects.toThrow(message);
});
