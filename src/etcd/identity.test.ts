import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { hasCode } from "#base/error.ts";
import { clusterIdFor, identityFor, memberIdFor } from "./identity.ts";
import { hexOf, memberId } from "./types.ts";

test("etcd started without flags has the IDs that its documentation shows everywhere", () => {
  const { clusterId, members } = identityFor({
    token: "etcd-cluster",
    members: [{ name: "default", peerUrl: "http://localhost:2380" }],
  });
  assert.equal(hexOf(clusterId), "cdf818194e3a8c32");
  assert.equal(hexOf(members[0]!.id), "8e9e05c52164694d");
});

const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 7 });

test("the order of the given members changes only the order of the result", () => {
  fc.assert(
    fc.property(names, fc.string(), (all, token) => {
      const members = all.map((name) => ({ name, peerUrl: `https://${name}.db:2380` }));
      const identity = identityFor({ token, members });
      const reversed = identityFor({ token, members: [...members].reverse() });
      assert.equal(reversed.clusterId, identity.clusterId);
      assert.deepEqual([...reversed.members].reverse(), identity.members);
    }),
  );
});

test("another token, peer URL or member results in another cluster ID", () => {
  const members = [{ name: "a", peerUrl: "http://a:2380" }];
  const { clusterId } = identityFor({ token: "one", members });
  assert.notEqual(identityFor({ token: "two", members }).clusterId, clusterId);
  const other = [{ name: "a", peerUrl: "http://b:2380" }];
  assert.notEqual(identityFor({ token: "one", members: other }).clusterId, clusterId);
  assert.notEqual(
    identityFor({ token: "one", members: [...members, { name: "b", peerUrl: "http://b:2380" }] }).clusterId,
    clusterId,
  );
});

test("a member's ID depends neither on its name nor on the order of its peer URLs", () => {
  assert.equal(memberIdFor(["http://b:1", "http://a:1"], "t"), memberIdFor(["http://a:1", "http://b:1"], "t"));
  assert.notEqual(memberIdFor(["http://a:1"], "t"), memberIdFor(["http://a:1", "http://b:1"], "t"));
});

test("IDs are sorted as unsigned numbers", () => {
  // The first 8 bytes of SHA-1 over 00 00 00 00 00 00 00 01 80 00 00 00 00 00 00 00.
  assert.equal(hexOf(clusterIdFor([memberId(2n ** 63n), memberId(1n)])), "3b5aec6b48f4b0b6");
});

test.each([
  { name: "an identity without members", members: [] },
  {
    name: "an identity with one member name twice",
    members: [
      { name: "a", peerUrl: "http://a:1" },
      { name: "a", peerUrl: "http://b:1" },
    ],
  },
  {
    name: "an identity with one peer URL twice",
    members: [
      { name: "a", peerUrl: "http://a:1" },
      { name: "b", peerUrl: "http://a:1" },
    ],
  },
])("$name is a bug", ({ members }) => {
  assert.throws(
    () => identityFor({ token: "t", members }),
    (thrown) => hasCode(thrown, "Bug"),
  );
});
