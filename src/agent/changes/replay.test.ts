import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Operation } from "#etcd/replay-member.ts";
import { AgentError } from "../error.ts";
import { apply } from "./replay.ts";
import type { Archived } from "./walk.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Revision 7: one key is written and two are deleted. */
const REVISION: Archived = {
  revision: 7n,
  atMs: 0,
  afterMs: undefined,
  leases: [],
  changes: [{ put: base64("a"), value: base64("1") }, { delete: base64("b") }, { delete: base64("c") }],
} as unknown as Archived;

/** A throw-away etcd with a fixed answer. */
function memberOf(answer: { revision: bigint; deleted: number }) {
  const applied: Operation[][] = [];
  const member = {
    hasLease: () => true,
    grant: () => Promise.resolve(),
    apply(operations: Operation[]) {
      applied.push(operations);
      return Promise.resolve(answer);
    },
  } as unknown as Parameters<typeof apply>[1];
  return { member, applied };
}

describe("a replayed revision", () => {
  test("is applied in one etcd transaction with all its puts and deletions", async () => {
    const { member, applied } = memberOf({ revision: 7n, deleted: 2 });
    assert.equal(await apply(REVISION, member), 16);
    assert.deepEqual(
      applied.map((operations) => operations.map((each) => ("put" in each ? `${each.put}` : `-${each.delete}`))),
      [["a", "-b", "-c"]],
    );
  });

  for (const [what, answer] of [
    ["deletes fewer keys than archived", { revision: 7n, deleted: 1 }],
    ["deletes no keys", { revision: 7n, deleted: 0 }],
    ["deletes more keys than archived", { revision: 7n, deleted: 3 }],
    ["gets another revision in etcd", { revision: 8n, deleted: 2 }],
  ] as const) {
    test(`is refused when it ${what}`, async () => {
      await assert.rejects(apply(REVISION, memberOf(answer).member), (thrown) => {
        assert.ok(thrown instanceof AgentError);
        assert.match(
          thrown.message,
          new RegExp(
            `made revision ${answer.revision} and deleted ${answer.deleted} keys, but revision 7 with 2 deleted keys was expected`,
          ),
        );
        return true;
      });
    });
  }
});
