import { expect, test } from "vitest";
import { nearestName } from "#etcd/flags/nearest.ts";

const names = [
  "max-txn-ops",
  "max-wal",
  "max-wals",
  "grpc-keepalive-min-time",
  "experimental-memory-mlock",
  "v",
  "a-b-c-d-e",
];
const cases: readonly (readonly [written: string, meant: string | undefined])[] = [
  ["max-txn-ops", "max-txn-ops"],
  ["max-txn-op", "max-txn-ops"],
  ["max-tx-op", "max-txn-ops"],
  ["max-t-op", undefined],
  ["max-walls", "max-wals"],
  ["max-val", "max-wal"],
  ["grpc-keepalive-mintimes", "grpc-keepalive-min-time"],
  ["grpc-keep-alive-mintimes", "grpc-keepalive-min-time"],
  ["grpc-keep-alive-mintimess", undefined],
  ["ETCD_GRPC_KEEPALIVE_MIN_TIME", "grpc-keepalive-min-time"],
  ["ETCD_A_B_C_D_E", "a-b-c-d-e"],
  ["memory-mlock", "experimental-memory-mlock"],
  ["experimental-max-wals", "max-wals"],
  ["w", undefined],
  ["", undefined],
];
test.each(cases)("the nearest flag to %j is %j", (written, meant) => {
  expect(nearestName(written, names)).toBe(meant);
});
