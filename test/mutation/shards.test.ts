import { test } from "vitest";
import { everyOneIsNoticed, PART_TIMEOUT_MS } from "./noticed.ts";

test("mutations: a table case of room shards notices every one", { timeout: PART_TIMEOUT_MS }, async () => {
  await everyOneIsNoticed("shards", { part: 0, of: 1 });
});
