import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { quorumOf } from "./quorum.ts";

test.each([
  { voters: 0, quorum: 1 },
  { voters: 1, quorum: 1 },
  { voters: 2, quorum: 2 },
  { voters: 3, quorum: 2 },
  { voters: 4, quorum: 3 },
  { voters: 5, quorum: 3 },
  { voters: 7, quorum: 4 },
])("$voters voters: quorum $quorum", ({ voters, quorum }) => {
  assert.equal(quorumOf(voters), quorum);
});

const voters = fc.integer({ min: 1, max: 99 });

test("two quorums always share a voter, and a smaller quorum would not guarantee it", () => {
  fc.assert(
    fc.property(voters, (count) => {
      assert.ok(2 * quorumOf(count) > count);
      assert.ok(2 * (quorumOf(count) - 1) <= count);
    }),
  );
});
