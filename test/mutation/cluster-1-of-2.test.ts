import { test } from "vitest";
import { everyOneIsNoticed, PART_TIMEOUT_MS } from "./noticed.ts";

// Not every mutation of the rooms that came last has its case yet: a landing does not wait for that, `npm run test:mutants` tells which.
test.skipIf(process.env.MUTATION_PART !== undefined)(
  "mutations: a table case of room cluster notices every one, part 1 of 2",
  {
    timeout: PART_TIMEOUT_MS,
  },
  async () => {
    await everyOneIsNoticed("cluster", { part: 0, of: 2 });
  },
);
