import { expect, test } from "vitest";
import { cluster } from "#kit/snapshots/cluster.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import { backupDraft, certificateDraft, editOf, restoreDraft, undeleteDraft, untilOf } from "./edits.ts";
import type { Values } from "./fields.ts";
import { wordsIn } from "./words.ts";

const NOW = Date.parse("2026-11-22T03:00:05Z");
const own = cluster({ spec: { paused: true } }).cluster as unknown as Values;
const schedules = [etcdBackupSchedule(), etcdBackupSchedule({ name: "weekly" })] as unknown as readonly Values[];

test("a backup has the source and destination of the first schedule, or of the named one", () => {
  const { object } = backupDraft("my-etcd", schedules, undefined, NOW) as { object: Values };
  expect(object).toMatchObject({
    metadata: { name: "my-etcd-20261122-030005" },
    spec: { source: { cluster: { name: "my-etcd" } } },
  });
  expect(backupDraft("my-etcd", schedules, "weekly", NOW)).toHaveProperty("object");
  expect(backupDraft("my-etcd", schedules, "daily", NOW)).toEqual({
    refused: "EtcdCluster my-etcd has no EtcdBackupSchedule daily; it has nightly, weekly.",
  });
});

test("a restore has the spec of the cluster without its pause and its beginning", () => {
  const { object } = restoreDraft(own, "b", "back", undefined) as { object: { spec: Values } };
  expect(object.spec).not.toHaveProperty("until");
  expect(object.spec.clusterTemplate).toMatchObject({ clusterName: "back", spec: { replicas: 3 } });
  expect(JSON.stringify(object)).not.toContain("paused");
  expect(restoreDraft(own, "b", "my-etcd", undefined)).toHaveProperty("refused");
  expect(restoreDraft(own, "b", "back", "yesterday")).toHaveProperty("refused");
});

test.each([
  ["7", { revision: "7" }],
  ["2026-11-22T09:59:00Z", { time: "2026-11-22T09:59:00Z" }],
  ["2026-11-22T09:59:00+01:00", { time: "2026-11-22T09:59:00+01:00" }],
  ["2026-11-22T09:59:00", undefined],
  ["2026-13-22T09:59:00Z", undefined],
  ["0", undefined],
])("--until %s", (text, until) => {
  expect(untilOf(text)).toEqual(until);
});

test("a deleted cluster has as many members as claims, and what a file adds", () => {
  const claims = [0, 1].map((n) => ({
    metadata: {
      name: `gone-${n}`,
      labels: { "etcd.improbable.io/cluster-name": "gone" },
      annotations: n === 1 ? { "etcd.improbable.io/etcd-version": "3.6.16" } : {},
    },
    spec: { resources: { requests: { storage: "8Gi" } }, storageClassName: "fast" },
  }));
  expect(undeleteDraft("gone", claims, { replicas: 3 })).toMatchObject({
    object: {
      spec: {
        replicas: 3,
        version: "3.6.16",
        storage: { size: "8Gi", storageClassName: "fast" },
        tls: { peer: { provider: "None" } },
      },
    },
  });
  expect(undeleteDraft("gone", claims.slice(0, 1), {})).toEqual({
    refused: "No claim of gone states its etcd release: give spec.version in a file with -f.",
  });
  expect(undeleteDraft("other", claims, {})).toHaveProperty("refused");
});

test("a common name that is no name of an object becomes the user's name in etcd", () => {
  expect(certificateDraft("c", "Ada_L", [])).toMatchObject({
    object: { metadata: { name: "ada-l" }, spec: { userName: "Ada_L" } },
  });
  expect(certificateDraft("c", "ada", [])).toMatchObject({ object: { spec: { clusterRef: { name: "c" } } } });
});

test.each([
  [undefined, "3.7.3", "5", { version: "3.7.3", replicas: 5 }],
  [{ kind: "EtcdCluster", spec: { etcd: {} } }, undefined, undefined, { etcd: {} }],
  [{ replicas: 1 }, undefined, "3", { replicas: 3 }],
  [undefined, undefined, undefined, "Give the edit: --version, --replicas or -f FILE."],
  [[], undefined, undefined, "-f must name a file with one EtcdCluster."],
  [undefined, undefined, "many", '--replicas is "many"; it must be a whole number.'],
])("the edit of %j, %s and %s", (file, version, replicas, edit) => {
  expect(editOf(file, version, replicas)).toEqual(edit);
});

test.each([
  ["put a 'b c'  d", ["put", "a", "b c", "d"]],
  ['put "a\\"b" \'\\\'', ["put", 'a"b', "\\"]],
  ["put ''", ["put", ""]],
  ["  ", []],
  ["put 'a", "The quote ' is not closed."],
])("words of %s", (line, words) => {
  expect(wordsIn(line)).toEqual(words);
});
