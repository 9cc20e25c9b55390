import { test } from "vitest";
import { everyOneIsNoticed, PART_TIMEOUT_MS } from "./noticed.ts";

test("mutations: table cases of package backup notice every mutation", { timeout: PART_TIMEOUT_MS }, async () => {
  await everyOneIsNoticed("backup", { part: 0, of: 1 });
});
