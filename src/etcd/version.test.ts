import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { hasCode } from "#base/error.ts";
import {
  compareVersions,
  formatVersion,
  parseVersion,
  supportedMinorOf,
  whyNoPath,
  whyUnsupported,
} from "./version.ts";

const part = fc.integer({ min: 0, max: 99_999 });

test("a version is read back from its text", () => {
  fc.assert(
    fc.property(part, part, part, (major, minor, patch) => {
      assert.deepEqual(parseVersion(formatVersion({ major, minor, patch })), { major, minor, patch });
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

test.each([
  { version: "3.4.40", minor: undefined, why: "etcd 3.4.40 is not one of 3.5, 3.6, 3.7" },
  { version: "3.5.10", minor: "3.5", why: "etcd 3.5.10 is older than 3.5.11" },
  { version: "3.5.11", minor: "3.5", why: undefined },
  { version: "3.6.0", minor: "3.6", why: undefined },
  { version: "3.7.3", minor: "3.7", why: undefined },
  { version: "3.8.0", minor: undefined, why: "etcd 3.8.0 is not one of 3.5, 3.6, 3.7" },
  { version: "4.5.20", minor: undefined, why: "etcd 4.5.20 is not one of 3.5, 3.6, 3.7" },
])("running $version", ({ version, minor, why }) => {
  assert.equal(supportedMinorOf(parseVersion(version)), minor);
  assert.equal(whyUnsupported(parseVersion(version)), why);
});

test.each([
  { from: "3.6.1", to: "3.6.16", why: undefined },
  { from: "3.6.16", to: "3.6.1", why: undefined },
  { from: "3.6.16", to: "3.7.0", why: undefined },
  { from: "3.5.26", to: "3.6.0", why: undefined },
  { from: "3.5.25", to: "3.6.16", why: "from 3.5.25 to 3.6.16 needs 3.5.26 or newer first" },
  { from: "3.5.35", to: "3.7.3", why: "from 3.5.35 to 3.7.3 skips a minor version" },
  { from: "3.6.16", to: "3.5.35", why: "from 3.6.16 to 3.5.35 is a downgrade over a minor version" },
  { from: "3.7.3", to: "4.0.0", why: "from 3.7.3 to 4.0.0 changes the major version" },
])("going from $from to $to", ({ from, to, why }) => {
  assert.equal(whyNoPath(parseVersion(from), parseVersion(to)), why);
});
