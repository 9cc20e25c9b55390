import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { hasCode } from "#base/error.ts";
import { compareVersions, isRelease, isSameMinor, parseVersion, whyNoPath } from "./version.ts";

const part = fc.oneof(fc.integer({ min: 0, max: 99 }), fc.maxSafeNat());

test("a version is parsed from its text", () => {
  fc.assert(
    fc.property(part, part, part, (major, minor, patch) => {
      const text = `${major}.${minor}.${patch}`;
      assert.deepEqual(parseVersion(text), { major, minor, patch });
      assert.equal(isRelease(text), true);
    }),
  );
});

test.each(["", "3.6", "v3.6.16", "3.6.16-rc.1", "3.6.16+build", "3.06.1", " 3.6.16", "3.6.16\n", "3.6.x", "3.6.1.2"])(
  "%j is not a version",
  (text) => {
    assert.equal(isRelease(text), false);
    assert.throws(
      () => parseVersion(text),
      (thrown) => hasCode(thrown, "InvalidSpec"),
    );
  },
);

test("versions are compared as numbers, part by part", () => {
  const ascending = ["3.5.9", "3.5.35", "3.6.0", "3.10.0", "4.0.0"].map(parseVersion);
  assert.deepEqual([...ascending].reverse().sort(compareVersions), ascending);
  assert.equal(compareVersions(parseVersion("3.6.1"), parseVersion("3.6.1")), 0);
});

const paths: readonly { from: string; to: string; is: string | undefined }[] = [
  { from: "3.6.16", to: "3.6.16", is: undefined },
  { from: "3.6.1", to: "3.6.16", is: undefined },
  { from: "3.6.16", to: "3.6.1", is: undefined },
  { from: "3.6.0", to: "3.7.9", is: undefined },
  { from: "3.5.35", to: "3.5.11", is: undefined },
  { from: "3.5.26", to: "3.6.0", is: undefined },
  { from: "3.5.35", to: "3.6.16", is: undefined },
  { from: "3.4.30", to: "3.5.11", is: undefined },
  { from: "3.5.25", to: "3.6.16", is: "from 3.5.25 to 3.6.16 needs 3.5.26 or a later 3.5 first" },
  { from: "3.5.11", to: "3.5.26", is: undefined },
  { from: "3.5.35", to: "3.7.0", is: "from 3.5.35 to 3.7.0 skips 3.6" },
  { from: "3.6.16", to: "3.5.35", is: undefined },
  { from: "3.6.16", to: "3.5.26", is: undefined },
  { from: "3.7.0", to: "3.6.0", is: undefined },
  {
    from: "3.6.16",
    to: "3.5.25",
    is: "from 3.6.16 to 3.5.25 needs 3.5.26 or a later 3.5",
  },
  {
    from: "3.7.0",
    to: "3.5.35",
    is: "from 3.7.0 to 3.5.35 is a downgrade by more than one minor version; go to 3.6 first",
  },
  {
    from: "3.5.35",
    to: "3.4.40",
    is: "from 3.5.35 to 3.4.40 is a downgrade by a minor version, which etcd 3.5 does not support",
  },
  { from: "3.7.0", to: "4.8.0", is: "from 3.7.0 to 4.8.0 changes the major version" },
  { from: "4.0.0", to: "3.7.0", is: "from 4.0.0 to 3.7.0 changes the major version" },
  { from: "4.5.1", to: "4.6.0", is: undefined },
];

test.each(paths)("the upgrade path from $from to $to is refused with: $is", ({ from, to, is }) => {
  assert.equal(whyNoPath(from, to), is);
});

test("two versions have the same minor version, whatever their patch versions are", () => {
  assert.equal(isSameMinor("3.6.1", "3.6.16"), true);
  assert.equal(isSameMinor("3.6.1", "3.7.1"), false);
  assert.equal(isSameMinor("3.6.1", "4.6.1"), false);
});
