import { describe, expect, test } from "vitest";
import { flagWarnings, whyNotFlags } from "#etcd/flags.ts";

describe("an extra flag", () => {
  const cases: readonly (readonly [what: string, version: string, extraArgs: object, says: string])[] = [
    ["that users may set is accepted", "3.6.16", { "max-request-bytes": "4194304" }, ""],
    [
      "with two dashes is refused",
      "3.6.16",
      { "--max-txn-ops": "1" },
      '"--max-txn-ops" is written without dashes: max-txn-ops',
    ],
    [
      "with one dash is refused",
      "3.6.16",
      { "-max-txn-ops": "1" },
      '"-max-txn-ops" is written without dashes: max-txn-ops',
    ],
    [
      "with a typo is refused with a suggestion",
      "3.6.16",
      { "max-request-byte": "1" },
      '"max-request-byte" is not a flag of etcd 3.6; did you mean max-request-bytes?',
    ],
    [
      "with two typos is refused with a suggestion",
      "3.7.3",
      { "max-reqest-byte": "1" },
      '"max-reqest-byte" is not a flag of etcd 3.7; did you mean max-request-bytes?',
    ],
    [
      "written as an environment variable is refused with a suggestion",
      "3.6.16",
      { ETCD_MAX_TXN_OPS: "1" },
      '"ETCD_MAX_TXN_OPS" is not a flag of etcd 3.6; did you mean max-txn-ops?',
    ],
    [
      "with a wrong prefix experimental is refused with a suggestion",
      "3.6.16",
      { "experimental-max-txn-ops": "1" },
      '"experimental-max-txn-ops" is not a flag of etcd 3.6; did you mean max-txn-ops?',
    ],
    [
      "similar to no other is refused without a suggestion",
      "3.6.16",
      { "log-everything": "1" },
      '"log-everything" is not a flag of etcd 3.6',
    ],
    ["without a name is refused", "3.6.16", { "": "1" }, '"" is not a flag of etcd 3.6'],
    ["help is refused", "3.6.16", { help: "true" }, '"help" is not a flag of etcd 3.6'],
    [
      "of later versions is refused with its name in this version",
      "3.5.35",
      { "corrupt-check-time": "1h" },
      '"corrupt-check-time" is not a flag of etcd 3.5, only of 3.6 and 3.7; use experimental-corrupt-check-time',
    ],
    [
      "of later versions without a name in this version is refused",
      "3.5.35",
      { "log-format": "console" },
      '"log-format" is not a flag of etcd 3.5, only of 3.6 and 3.7',
    ],
    [
      "of earlier versions is refused with its new name",
      "3.7.3",
      { "experimental-memory-mlock": "true" },
      '"experimental-memory-mlock" is not a flag of etcd 3.7, only of 3.5 and 3.6; use memory-mlock',
    ],
    [
      "that has become a feature gate is refused with the gate",
      "3.7.0",
      { "experimental-initial-corrupt-check": "true" },
      '"experimental-initial-corrupt-check" is not a flag of etcd 3.7, only of 3.5 and 3.6; use feature-gates with InitialCorruptCheck=true',
    ],
    [
      "of one earlier version is refused with its new name",
      "3.7.3",
      { "experimental-warning-unary-request-duration": "1s" },
      '"experimental-warning-unary-request-duration" is not a flag of etcd 3.7, only of 3.6; use warning-unary-request-duration',
    ],
    [
      "that the operator sets is refused",
      "3.6.16",
      { "data-dir": "/data" },
      `"data-dir" is set by the operator, which knows where the member's volume is`,
    ],
    [
      "that has a field of the spec is refused",
      "3.6.16",
      { "quota-backend-bytes": "1" },
      '"quota-backend-bytes" has a field of its own, spec.etcd.backendQuota',
    ],
    [
      "that weakens etcd's guarantees is refused, whatever its value is",
      "3.6.16",
      { "unsafe-no-fsync": "false" },
      '"unsafe-no-fsync" would lose writes that etcd has acknowledged',
    ],
    [
      "that is refused in every version is refused in a version without it",
      "3.7.3",
      { proxy: "off" },
      '"proxy" is about the proxy that etcd 3.5 can be instead of a member',
    ],
    [
      "that etcd ignores is refused",
      "3.7.3",
      { snapshot: "1" },
      '"snapshot" does nothing: etcd takes it only so that old command lines still work',
    ],
    [
      "in an unknown version is refused only by rules for all versions",
      "3.99.0",
      { name: "me", "--x": "", "max-txn-ops": "many", "brand-new": "1" },
      [
        '"name" is set by the operator, which gives each member its name and the list of members',
        '"--x" is written without dashes: x',
      ].join("; "),
    ],
    [
      "together with its new name is refused",
      "3.6.16",
      { "experimental-memory-mlock": "true", "memory-mlock": "true" },
      '"experimental-memory-mlock" cannot be given beside memory-mlock; use memory-mlock',
    ],
    [
      "together with its feature gate is refused",
      "3.6.16",
      { "experimental-initial-corrupt-check": "true", "feature-gates": "InitialCorruptCheck=true" },
      '"experimental-initial-corrupt-check" cannot be given beside feature-gates; use feature-gates with InitialCorruptCheck=true',
    ],
    [
      "together with all feature gates is refused",
      "3.6.16",
      { "experimental-initial-corrupt-check": "true", "feature-gates": "AllAlpha=true" },
      '"experimental-initial-corrupt-check" cannot be given beside feature-gates; use feature-gates with InitialCorruptCheck=true',
    ],
    [
      "together with another feature gate is accepted",
      "3.6.16",
      { "experimental-initial-corrupt-check": "true", "feature-gates": "CompactHashCheck=true" },
      "",
    ],
    [
      "together with a name that this version does not have is refused for that name",
      "3.5.35",
      { "experimental-memory-mlock": "true", "memory-mlock": "true" },
      '"memory-mlock" is not a flag of etcd 3.5, only of 3.6 and 3.7; use experimental-memory-mlock',
    ],
    [
      "is reported together with other refused flags",
      "3.6.16",
      { "pre-vote": "true", metrics: "basic", "max-txn-ops": "-1" },
      [
        '"pre-vote" stays as it is: it keeps a member that comes back from unseating the leader',
        '"max-txn-ops" is "-1"; it must be a whole number from 0 to 18446744073709551615',
      ].join("; "),
    ],
  ];
  test.each(cases)("%s (%s)", (_what, version, extraArgs, says) => {
    expect(whyNotFlags(extraArgs as Record<string, string>, version).join("; ")).toBe(says);
  });
});

describe("the value of an extra flag", () => {
  const NUMBER = "must be a whole number";
  const cases: readonly (readonly [flag: string, good: readonly string[], bad: readonly string[], says: string])[] = [
    ["enable-pprof", ["true", "false"], ["", "yes", "True", "1"], "must be true or false"],
    [
      "grpc-keepalive-timeout",
      ["0", "0s", "20s", "1m30s", "1.5h", ".5s", "1s.5s", "1.s", "5\u00b5s", "2562047h"],
      ["", "20", "20 s", "-1s", "1d", "s", "1s5", ".s", "2562048h"],
      "must be a duration such as 500ms or 1m30s",
    ],
    ["backend-batch-limit", ["0", "-1", "9223372036854775807"], ["", "x", "010", "-0", "+1", "1.5", "1e3"], NUMBER],
    ["backend-batch-limit", [], ["9223372036854775808"], NUMBER],
    [
      "max-request-bytes",
      ["0", "18446744073709551615"],
      ["-1", "18446744073709551616", "99999999999999999999999", "4Mi"],
      `${NUMBER} from 0 to 18446744073709551615`,
    ],
    ["max-concurrent-streams", ["4294967295"], ["4294967296"], `${NUMBER} from 0 to 4294967295`],
    [
      "feature-gates",
      ["", "CompactHashCheck=true", "AllAlpha=false,AllBeta=true"],
      ["CompactHashCheck", "CompactHashCheck=1", "FastLeaseKeepAlive=true", "CompactHashCheck=true,x=true"],
      "must be a list such as InitialCorruptCheck=true,CompactHashCheck=false, with gates that etcd 3.6 has: AllAlpha, AllBeta, CompactHashCheck, InitialCorruptCheck, LeaseCheckpoint, LeaseCheckpointPersist, SetMemberLocalAddr, StopGRPCServiceOnDefrag, TxnModeWriteWithSharedBuffer",
    ],
    [
      "cors",
      ["*", "https://example.com:443", "http://[::1]:80,http://127.0.0.1:8080"],
      ["", "https://example.com", "example.com:443", "https://example.com:443/", "*,https://example.com:443"],
      "must be * or a list of URLs, each with a port, such as https://example.com:443",
    ],
    ["log-outputs", ["", "stderr", "anything at all"], [], ""],
  ];
  test.each(cases)("%s may be %j, and not %j", (flag, good, bad, says) => {
    for (const value of good) expect(whyNotFlags({ [flag]: value }, "3.6.16")).toEqual([]);
    for (const value of bad)
      expect(whyNotFlags({ [flag]: value }, "3.6.16")).toEqual([`"${flag}" is ${JSON.stringify(value)}; it ${says}`]);
  });
});

describe("a change of spec.version with extra flags", () => {
  const given = { "experimental-memory-mlock": "true", "max-txn-ops": "1", "feature-gates": "AllAlpha=true" };
  test("is accepted when the version has all flags", () => {
    expect(whyNotFlags(given, "3.6.0")).toEqual([]);
    expect(whyNotFlags(given, "3.99.0")).toEqual([]);
  });

  test("is refused when the version lacks a flag", () => {
    expect(whyNotFlags(given, "3.7.0")).toEqual([
      '"experimental-memory-mlock" is not a flag of etcd 3.7, only of 3.5 and 3.6; use memory-mlock',
    ]);
    expect(whyNotFlags(given, "3.5.26")).toEqual(['"feature-gates" is not a flag of etcd 3.5, only of 3.6 and 3.7']);
  });

  test("is refused when the version lacks a feature gate", () => {
    const [sentence, ...more] = whyNotFlags({ "feature-gates": "PriorityRequest=true" }, "3.6.16");
    expect(more).toEqual([]);
    expect(sentence).toMatch(/^"feature-gates" is "PriorityRequest=true"; it must be a list .* that etcd 3\.6 has: /);
    expect(whyNotFlags({ "feature-gates": "PriorityRequest=true" }, "3.7.3")).toEqual([]);
  });

  test("results in a warning when the version deprecates a flag", () => {
    expect(flagWarnings({ ...given, "max-snapshots": "5" }, "3.6.16")).toEqual([
      '"experimental-memory-mlock" is deprecated in etcd 3.6, and not a flag of 3.7; use memory-mlock',
      '"max-snapshots" is deprecated in etcd 3.6',
    ]);
    expect(flagWarnings(given, "3.5.35")).toEqual([]);
    expect(flagWarnings(given, "3.7.3")).toEqual([]);
    expect(flagWarnings(given, "3.99.0")).toEqual([]);
  });
});

test("at most twenty unknown flags are reported", () => {
  const flags = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`no-such-flag-${n}`, "1"]));
  const sentences = whyNotFlags(flags, "3.6.16");
  expect(sentences).toHaveLength(20);
  expect(sentences[19]).toContain("no-such-flag-19");
});
