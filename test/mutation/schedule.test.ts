import { test } from "vitest";
import { everyOneIsNoticed, PART_TIMEOUT_MS } from "./noticed.ts";

test("mutations: table cases of package schedule notice every mutation", { timeout: PART_TIMEOUT_MS }, async () => {
  await everyOneIsNoticed("schedule", { part: 0, of: 1 });
});
