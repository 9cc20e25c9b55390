import { expect, test } from "vitest";
import { secured } from "#kit/snapshots/cluster-tls.ts";
import { forReread } from "./clients.ts";

test("clients get time to reread a Secret, and members restart instead", () => {
  const settled = secured();
  expect(forReread({ ...settled, rereadWithinMs: 150_000 }, "client")).toBe(" for 150 s");
  expect(forReread(settled, "peer")).toBe("");
});
