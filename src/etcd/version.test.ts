import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { hasCode } from "#base/error.ts";
import { compareVersions, parseVersion } from "./version.ts";

const part = fc.integer({ min: 0, max: 99_999 });

test("a version is read back from its text", () => {
  fc.assert(
    fc.property(part, part, part, (major, minor, patch) => {
      assert.deepEqual(parseVersion(`${major}.${minor}.${patch}`), { major, minor, patch });
    }),
  );
});

test.each(["", "3.6", "v3.6.16", "3.6.16-rc.1", "3.6.16+build", "3.06.1", " 3.6.16", "3.6.16\n", "3.6.x", "3.6.1.2"])(
  "%j is no version",
  (text) => {
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
