import { expect, test } from "vitest";
import { QUARANTINE_LABEL, QUARANTINE_TIME_ANNOTATION } from "#api/names.ts";
import { clusterStatus } from "#cluster/status.ts";
import { claim, cluster } from "#kit/snapshots/cluster.ts";
import { quarantineStatus } from "./quarantined-claims.ts";

const settled = cluster();

/** A claim that was quarantined at this time. */
function quarantined(name: string, at: string | undefined) {
  const its = claim(name, at === undefined ? {} : { [QUARANTINE_TIME_ANNOTATION]: at });
  return { ...its, metadata: { ...its.metadata, labels: { [QUARANTINE_LABEL]: "true" } } };
}
const statusOf = (...more: ReturnType<typeof quarantined>[]) =>
  quarantineStatus({ claims: [...settled.claims, ...more] });

test("quarantined claims: claims of members do not count", () => {
  expect(statusOf()).toEqual({});
});

test("quarantined claims: the status has the number of quarantined claims and the oldest quarantine time", () => {
  const [first, second] = [
    quarantined("my-etcd-7", "2026-01-02T00:00:00Z"),
    quarantined("my-etcd-8", "2026-01-01T00:00:00Z"),
  ];
  const quarantinedClaims = { count: 2, oldestTime: "2026-01-01T00:00:00Z" };
  expect(statusOf(first, second)).toEqual({ quarantinedClaims });
  expect(statusOf(second, first)).toEqual({ quarantinedClaims });
  const status = clusterStatus({ ...settled, claims: [...settled.claims, first, second] }, { next: "settled" });
  expect(status).toMatchObject({ quarantinedClaims });
  expect(clusterStatus(settled, { next: "settled" })).not.toHaveProperty("quarantinedClaims");
});

test("quarantined claims: a claim with a missing or invalid quarantine time is counted without its time", () => {
  expect(statusOf(quarantined("my-etcd-7", undefined))).toEqual({ quarantinedClaims: { count: 1 } });
  const [bad, good] = [quarantined("my-etcd-7", "yesterday"), quarantined("my-etcd-8", "2026-01-01T00:00:00Z")];
  expect(statusOf(bad, good)).toEqual({ quarantinedClaims: { count: 2, oldestTime: "2026-01-01T00:00:00Z" } });
});
