import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { canLose, hasQuorum, quorumOf } from "./quorum.ts";

test.each([
  { voters: 0, quorum: 1, spare: 0 },
  { voters: 1, quorum: 1, spare: 0 },
  { voters: 2, quorum: 2, spare: 0 },
  { voters: 3, quorum: 2, spare: 1 },
  { voters: 4, quorum: 3, spare: 1 },
  { voters: 5, quorum: 3, spare: 2 },
  { voters: 7, quorum: 4, spare: 3 },
])("$voters voters: quorum $quorum, may lose $spare", ({ voters, quorum, spare }) => {
  assert.equal(quorumOf(voters), quorum);
  assert.equal(canLose(voters), spare);
});

const voters = fc.integer({ min: 1, max: 99 });

test("two quorums always share a voter, and a smaller number would not do", () => {
  fc.assert(
    fc.property(voters, (count) => {
      assert.ok(2 * quorumOf(count) > count);
      assert.ok(2 * (quorumOf(count) - 1) <= count);
    }),
  );
});

test("losing as many as may be lost leaves a quorum, one more does not", () => {
  fc.assert(
    fc.property(voters, (count) => {
      assert.ok(hasQuorum({ voters: count, healthy: count - canLose(count) }));
      assert.ok(!hasQuorum({ voters: count, healthy: count - canLose(count) - 1 }));
    }),
  );
});

test("nobody decides for a cluster without voters", () => {
  assert.equal(hasQuorum({ voters: 0, healthy: 0 }), false);
});
