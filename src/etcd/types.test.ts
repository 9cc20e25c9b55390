import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { hasCode } from "#base/error.ts";
import { clusterId, clusterIdFromHex, hexOf, memberId, memberIdFromHex } from "./types.ts";

test("an ID is parsed from its text, and is written without padding", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), (value) => {
      const text = hexOf(memberId(value));
      assert.match(text, /^[1-9a-f][0-9a-f]{0,15}$/);
      assert.equal(memberIdFromHex(text), value);
      assert.equal(clusterIdFromHex(hexOf(clusterId(value))), value);
    }),
  );
  assert.equal(hexOf(memberId(0xabcn)), "abc");
});

test.each(["", "0", "0abc", "ABC", "0xabc", "abc ", "-1", "10000000000000000", "g"])("%j is not an ID", (text) => {
  assert.throws(
    () => memberIdFromHex(text),
    (thrown) => hasCode(thrown, "InvalidSpec"),
  );
  assert.throws(
    () => clusterIdFromHex(text),
    (thrown) => hasCode(thrown, "InvalidSpec"),
  );
});

test.each([0n, -1n, 2n ** 64n])("%s is not a uint64 above 0", (value) => {
  assert.throws(
    () => memberId(value),
    (thrown) => hasCode(thrown, "Bug"),
  );
});
