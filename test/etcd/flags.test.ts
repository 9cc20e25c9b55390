import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, test } from "vitest";
import { ensureComponents } from "#dev/components.ts";
import { silentStep } from "#dev/progress.ts";
import { FLAGS, GATES, type Kind, type Minor, type Row } from "#etcd/flags/list.ts";
import { listedMinor, minorsBetween } from "#etcd/flags/span.ts";
import { givableTo, whyNotFlags } from "#etcd/flags.ts";
import { ETCD_VERSIONS } from "#kit/etcd/etcd.ts";
import { EtcdBinary } from "../../scripts/etcd-flags/binary.ts";
import { readHelp } from "../../scripts/etcd-flags/help.ts";

const folder = mkdtempSync(join(tmpdir(), "etcd-flags-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const paths = await ensureComponents(
  ETCD_VERSIONS.map((version) => `etcd-${version}` as const),
  silentStep,
);

/** Accepted values of flags of the kind `other`. */
const OTHER: Readonly<Record<string, readonly string[]>> = {
  proxy: ["off"],
  "discovery-fallback": ["exit"],
  "initial-cluster-state": ["new"],
  "v2-deprecation": ["write-only"],
};
/** Both limits, and a value in between. */
const VALUES: Readonly<Record<Kind, readonly string[]>> = {
  bool: ["true", "false"],
  duration: ["0", "1m30s", "2562047h"],
  int: ["-9223372036854775807", "0", "9223372036854775807"],
  uint: ["0", "1", "18446744073709551615"],
  uint32: ["0", "1", "4294967295"],
  gates: ["", "AllAlpha=true,AllBeta=false"],
  text: ["", "x"],
  urls: ["http://127.0.0.1:1", "https://[::1]:1,http://127.0.0.2:65535"],
  other: [],
  ignored: ["", "x"],
};

const NUMBER = fc.oneof(
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  fc.integer({ min: -20, max: 2 ** 33 }).map(String),
  piecedFrom("0", "1", "9", "-", "_", "x"),
);
/** Texts that are, or almost are, values of the kind. */
const LIKE: Readonly<Partial<Record<Kind, fc.Arbitrary<string>>>> = {
  bool: fc.constantFrom("", "true", "false", "True", "1", "t"),
  duration: piecedFrom("0", "1", "59", "2562047", ".", "-", "h", "m", "s", "ms", "us", "\u00b5s", "\u03bcs", "ns"),
  int: NUMBER,
  uint: NUMBER,
  uint32: NUMBER,
  gates: piecedFrom("AllAlpha", "CompactHashCheck=true", "InitialCorruptCheck=false", "=true", ",", " ", "x"),
  urls: piecedFrom("*", "http://a.b:80", "https://[::1]:443", "http://", "x-y.z", ":", "8", ",", "/"),
};

/** Almost valid values. */
const NEAR: Readonly<Record<string, readonly string[]>> = {
  duration: ["5", "1d", "x5s", "2562048h", "1 s"],
  gates: ["AllAlpha", "x=true", "AllAlpha=true;AllBeta=true"],
  urls: ["http://a.b", "a.b:80", "ftp://a.b:80", "http://a.b:80/", "*,http://a.b:80", ",http://a.b:80"],
};

function piecedFrom(...pieces: readonly string[]): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...pieces), { maxLength: 5 }).map((parts) => parts.join(""));
}

describe.each(ETCD_VERSIONS)("etcd %s", (version) => {
  const path = paths[`etcd-${version}`];
  const binary = new EtcdBinary(path, folder);
  const minor = listedMinor(version)!;
  const listed = FLAGS.filter(([, , first, last]) => minorsBetween(first, last).includes(minor));
  const gates = GATES.filter(([, first, last]) => minorsBetween(first, last).includes(minor)).map(([gate]) => gate);

  test.each([0, 1, 2])("accepts every listed flag with values at the limits of its kind (%i)", async (index) => {
    const args = listed.map(([name, takes]) => {
      const values = OTHER[name] ?? VALUES[takes];
      return `--${name}=${values[index % values.length]}`;
    });
    assert.equal(await binary.refusal(...args), undefined);
  });

  test("accepts no unlisted flag", async () => {
    const others = [...FLAGS.filter((row) => !listed.includes(row)).map(([name]) => name), "no-such-flag", "help"];
    for (const name of others) assert.equal(await binary.knows(name), false, name);
  });

  test("accepts only values of the listed kind", async () => {
    const choosy = listed.filter(([, takes]) => takes !== "text" && takes !== "ignored");
    for (const [name] of choosy) assert.match((await binary.refusal(`--${name}=.`)) ?? "", /^invalid .*value/, name);
    const unsigned = listed.filter(([, takes]) => takes.startsWith("uint"));
    for (const [name] of unsigned) assert.match((await binary.refusal(`--${name}=-1`)) ?? "", /^invalid value/, name);
  });

  test("has exactly the listed feature gates", async () => {
    if (gates.length === 0) return assert.equal(await binary.knows("feature-gates"), false);
    for (const [gate] of GATES) {
      const refusal = await binary.refusal(`--feature-gates=${gate}=true`);
      assert.equal(refusal === undefined, gates.includes(gate), `${gate}: ${refusal}`);
    }
  });

  test("lists only known flags, feature gates and deprecations in its help", async () => {
    const help = readHelp(await binary.help());
    assert.ok(help.flags.length > 100);
    // The help of 3.7 lists two flags that it no longer has.
    for (const name of help.flags.filter((name) => !listed.some(([known]) => known === name)))
      assert.equal(await binary.knows(name), false, name);
    assert.deepEqual([...help.gates].sort(), gates);
    const deprecated = listed.filter((row) => isDeprecatedIn(row, minor)).map(([name]) => name);
    assert.deepEqual([...help.deprecated.keys()].sort(), deprecated);
  });

  test("warns only of listed deprecations, and names the listed replacements", async () => {
    // Left out: old names next to new ones, and meaningless texts, because etcd would end before the warning.
    const newer = new Set(listed.flatMap(([, , , , , instead]) => instead ?? []));
    const given = givableTo(minor).filter((name) => !newer.has(name) && name !== "feature-gates");
    const rows = listed.filter(([name, takes]) => given.includes(name) && (takes !== "text" || name.startsWith("exp")));
    const said = await lastWords(path, Object.fromEntries(rows.map(([name, takes]) => [name, VALUES[takes][1] ?? ""])));
    const warned = [...said.matchAll(/--([a-z0-9-]+) is deprecated(?:.* Use '?-*([a-z-]+)(?:=(\w+))?)?/g)];
    assert.ok(warned.length > (minor === "3.6" ? 15 : minor === "3.7" ? 0 : -1), said);
    for (const [, name, flag, gate] of warned) {
      const [, , , , deprecated, instead] = listed.find(([other]) => other === name) ?? [];
      assert.deepEqual([name, deprecated, instead], [name, "3.6", gate ?? flag]);
    }
  });

  test.each(Object.entries(LIKE))(
    "accepts every value of the kind %s that the operator's validation accepts",
    async (kind, likeIt) => {
      const flag = givableTo(minor).find((name) => FLAGS.some(([other, takes]) => other === name && takes === kind));
      if (flag === undefined) return assert.deepEqual([kind, minor], ["gates", "3.5"]);
      let letThrough = 0;
      const property = fc.asyncProperty(fc.oneof(likeIt, fc.constantFrom(...VALUES[kind as Kind])), async (value) => {
        if (whyNotFlags({ [flag]: value }, version).length > 0) return;
        letThrough++;
        assert.equal(await binary.refusal(`--${flag}=${value}`), undefined);
      });
      await fc.assert(property, { numRuns: 50, examples: (NEAR[kind] ?? []).map((value) => [value]) });
      assert.ok(letThrough > 0, `${letThrough} of ${flag}`);
    },
  );

  test("accepts no deprecated flag together with its replacement", async () => {
    const pairs = listed.flatMap(([name, takes, , , , instead]) => {
      if (instead === undefined || !listed.some(([other]) => other === instead || gates.includes(instead))) return [];
      const newer = gates.includes(instead) ? { "feature-gates": `${instead}=true` } : { [instead]: VALUES[takes][1] };
      return [{ [name]: VALUES[takes][1], ...newer } as Record<string, string>];
    });
    assert.equal(pairs.length > 0, minor === "3.6");
    for (const pair of pairs) {
      assert.match(await lastWords(path, pair), /at the same time|flags are set\. Use only/, JSON.stringify(pair));
      assert.notDeepEqual(whyNotFlags(pair, version), []);
    }
  });
});

function isDeprecatedIn([, , , , deprecated]: Row, minor: Minor): boolean {
  return deprecated !== undefined && minorsBetween(deprecated, minor).length > 0;
}

/** etcd's log when its parser accepts the flags. It ends because of the compaction mode, which it checks after them. */
function lastWords(path: string, flags: Readonly<Record<string, string>>): Promise<string> {
  const args = Object.entries({ ...flags, "auto-compaction-mode": "none" }).map(
    ([name, value]) => `--${name}=${value}`,
  );
  return new Promise((resolve) => {
    execFile(path, args, { cwd: folder, env: {}, timeout: 30_000, killSignal: "SIGKILL" }, (_failure, _out, stderr) =>
      resolve(stderr),
    );
  });
}
