import { test } from "vitest";
import { everyOneIsNoticed, PART_TIMEOUT_MS } from "./noticed.ts";

test("mutations: table cases of package cluster notice every mutation, part 2 of 2", {
  timeout: PART_TIMEOUT_MS,
}, async () => {
  await everyOneIsNoticed("cluster", { part: 1, of: 2 });
});
