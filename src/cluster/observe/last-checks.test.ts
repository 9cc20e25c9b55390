import { expect, test } from "vitest";
import { present, unknown } from "#base/observed.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { cluster, endpointStatus, NOW } from "#kit/snapshots/cluster.ts";
import { LastChecks } from "./last-checks.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const WHOLE = cluster();
const { clusterID, initialMembers } = WHOLE.cluster.status!.identity!;
const [first, second] = initialMembers.map(({ id }) => id);
const DATABASE = { dbSizeBytes: 20_480, dbSizeInUseBytes: 16_384, dbSizeQuotaBytes: undefined };

const answer = (status: Partial<EndpointStatus> = {}) => ({ ...endpointStatus(clusterID, first!, first), ...status });
const withAnswers = (answers: Readonly<Record<string, Partial<EndpointStatus> | undefined>>) => ({
  ...WHOLE,
  endpoints: new Map(
    Object.entries(answers).map(([name, status]) => [
      name,
      status === undefined ? unknown("it is silent") : present(answer(status)),
    ]),
  ),
});

test("the database of each member that answered is recorded, with the time", () => {
  const checks = new LastChecks();
  expect(checks.of(KEY)).toBeUndefined();
  const other = endpointStatus("abc", second!, first).clusterId;
  checks.observed(KEY, withAnswers({ "my-etcd-0": {}, "my-etcd-1": undefined, "my-etcd-2": { clusterId: other } }));
  expect(checks.of(KEY)).toMatchObject({ atMs: NOW, databases: new Map([["my-etcd-0", DATABASE]]) });
  checks.forget(KEY);
  expect(checks.of(KEY)).toBeUndefined();
});

test("a quick check replaces one database and keeps the others", () => {
  const checks = new LastChecks();
  checks.observed(KEY, WHOLE);
  checks.quicklyChecked(KEY, "my-etcd-1", answer({ dbSizeBytes: 30_000 }), NOW + 60_000);
  const { atMs, databases } = checks.of(KEY)!;
  expect(atMs).toBe(NOW + 60_000);
  expect([...databases].map(([name, { dbSizeBytes }]) => [name, dbSizeBytes])).toEqual([
    ["my-etcd-0", 20_480],
    ["my-etcd-1", 30_000],
    ["my-etcd-2", 20_480],
  ]);
});

test("a quick check may be the first one", () => {
  const checks = new LastChecks();
  checks.quicklyChecked(KEY, "my-etcd-1", answer(), NOW);
  expect(checks.of(KEY)).toMatchObject({ atMs: NOW, databases: new Map([["my-etcd-1", DATABASE]]), leaderChanges: 0 });
});

test("a leader of a later term counts as a change, and time without a leader does not", () => {
  const checks = new LastChecks();
  const changes = (status: Partial<EndpointStatus>) => {
    checks.observed(KEY, withAnswers({ "my-etcd-0": status }));
    return checks.of(KEY)?.leaderChanges;
  };
  expect(changes({ raftTerm: 7 })).toBe(0);
  expect(changes({ raftTerm: 7 })).toBe(0);
  expect(changes({ raftTerm: 9, leaderId: undefined })).toBe(0);
  expect(changes({ raftTerm: 9 })).toBe(1);
  expect(changes({ raftTerm: 10 })).toBe(2);
  expect(changes({ raftTerm: 2 })).toBe(2); // A new cluster of the same name.
  expect(changes({ raftTerm: 3 })).toBe(3);
  checks.quicklyChecked(KEY, "my-etcd-1", answer({ raftTerm: 4 }), NOW);
  expect(checks.of(KEY)?.leaderChanges).toBe(4);
});
