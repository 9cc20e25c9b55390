import { test } from "vitest";
import { everyOneIsNoticed, PART_TIMEOUT_MS } from "./noticed.ts";

test("mutations: every mutation of package access fails a table test or is excused", {
  timeout: PART_TIMEOUT_MS,
}, async () => {
  await everyOneIsNoticed("access", { part: 0, of: 1 });
});
