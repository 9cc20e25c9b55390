import fc from "fast-check";
import { expect, test } from "vitest";
import { FLAGS, GATES, type Kind, MINORS, type Minor } from "#etcd/flags/list.ts";
import { RESERVED } from "#etcd/flags/reserved.ts";
import { givableTo, whyNotFlags } from "#etcd/flags.ts";

/** The flags of the newest version that users may set. A new version needs a decision about each of its new flags. */
const GIVABLE = `
  auth-token-ttl backend-batch-interval backend-batch-limit backend-bbolt-freelist-type bcrypt-cost
  bootstrap-defrag-threshold-megabytes compact-hash-check-time compaction-batch-limit compaction-sleep-interval
  corrupt-check-time cors distributed-tracing-address distributed-tracing-instance-id
  distributed-tracing-sampling-rate distributed-tracing-service-name downgrade-check-time
  enable-distributed-tracing enable-grpc-gateway enable-log-rotation enable-pprof feature-gates
  grpc-keepalive-interval grpc-keepalive-min-time grpc-keepalive-timeout initial-election-tick-advance
  log-format log-level log-outputs log-rotation-config-json logger max-concurrent-streams max-request-bytes
  max-snapshots max-txn-ops max-wals memory-mlock metrics raft-read-timeout raft-write-timeout
  snapshot-catchup-entries socket-reuse-address socket-reuse-port warning-apply-duration
  warning-unary-request-duration watch-progress-notify-interval
`;

const kinds = new Map(FLAGS.map(([name, takes]) => [name, takes]));

const SOME_VALUE: Readonly<Record<Kind, string>> = {
  bool: "true",
  duration: "1m30s",
  int: "1",
  uint: "1",
  uint32: "1",
  gates: "InitialCorruptCheck=true",
  text: "x",
  urls: "*",
  other: "x",
  ignored: "1",
};

function withValues(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, SOME_VALUE[kinds.get(name)!]]));
}

/** Whether the version also knows a newer name of the same flag, which excludes the old one. */
function hasNewerName(name: string, minor: Minor): boolean {
  return minor === "3.6" && name.startsWith("experimental-");
}

test.each(MINORS)("every flag of etcd %s that is not reserved is accepted, alone and with others", (minor) => {
  const allowed = givableTo(minor);
  expect(allowed.length).toBeGreaterThan(40);
  for (const name of allowed) expect(whyNotFlags(withValues([name]), `${minor}.0`)).toEqual([]);
  const several = fc.subarray(allowed.filter((name) => !hasNewerName(name, minor)));
  fc.assert(
    fc.property(several, (names) => {
      expect(whyNotFlags(withValues(names), `${minor}.0`)).toEqual([]);
    }),
  );
});

function isUnknown(name: string, minor: Minor): boolean {
  return whyNotFlags({ [name]: "" }, `${minor}.0`).some((why) => why.includes(`is not a flag of etcd ${minor}`));
}

test.each(MINORS)("every flag of etcd %s is either reserved or accepted", (minor) => {
  const decided = new Set([...RESERVED.keys(), ...givableTo(minor)]);
  const left = FLAGS.filter(([name]) => !decided.has(name) && !isUnknown(name, minor));
  expect(left.filter(([, takes]) => takes !== "ignored")).toEqual([]);
});

test("exactly these flags are accepted", () => {
  expect(givableTo("3.7")).toEqual(GIVABLE.trim().split(/\s+/));
  const older = MINORS.flatMap(givableTo).filter((name) => !givableTo("3.7").includes(name));
  expect(older.filter((name) => !name.startsWith("experimental-"))).toEqual([]);
});

test("every reserved name is the name of a flag", () => {
  expect([...RESERVED.keys()].filter((name) => !kinds.has(name))).toEqual([]);
});

test("the new name of every renamed flag exists in the first version without the old name", () => {
  const renamed = FLAGS.flatMap(([name, , , last, , instead]) => {
    const next = MINORS[MINORS.indexOf(last) + 1];
    return next === undefined || instead === undefined ? [] : [{ name, next, instead }];
  });
  expect(renamed.length).toBeGreaterThan(20);
  const gates = new Set(GATES.map(([gate]) => gate));
  const lost = renamed.filter(({ next, instead }) => !gates.has(instead) && !isKnown(instead, next));
  expect(lost).toEqual([]);
});

function isKnown(name: string, minor: Minor): boolean {
  return kinds.has(name) && !isUnknown(name, minor);
}
