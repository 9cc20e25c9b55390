import { expect, test } from "vitest";
import { workedOn, workFor } from "#base/worked-on.ts";

const A = { controller: "cluster", namespace: "foo", name: "a" };
const B = { ...A, name: "b" };

test("code that runs for an object can read which object, and other code reads none", async () => {
  const seen: unknown[] = [];
  const look = async (): Promise<void> => {
    await new Promise<void>((resolve) => setTimeout(resolve, 1));
    seen.push(workedOn());
  };
  await Promise.all([workFor(A, look), workFor(B, look), look()]);
  expect(seen).toEqual([A, B, undefined]);
  expect(workFor(A, () => 5)).toBe(5);
});
