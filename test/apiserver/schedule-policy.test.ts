import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import { KubeClient } from "#kube/client.ts";
import { kubeconfigFile } from "#kube/config.ts";
import { httpTransport } from "#kube/transport.ts";
import { ALL_STAY } from "../../scripts/schedule-policy.ts";

// A real API server with the shipped manifests warns about a schedule that never deletes a backup. No operator runs.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "foo";
let server: ApiServer;
let person: KubeClient;
let warnings = "";
let count = 0;

beforeAll(async () => {
  ({ server } = await startShipped({ namespace, kinds: [ETCD_BACKUP_SCHEDULES] }));
  const config = await kubeconfigFile(server.kubeconfig);
  const inner = httpTransport(config);
  person = new KubeClient({
    config,
    userAgent: "person",
    transport: {
      send: async (sent) => {
        const answer = await inner.send(sent);
        warnings = answer.header("warning") ?? "";
        return answer;
      },
      close: () => inner.close(),
    },
  });
  // A policy applies a moment after its creation.
  await vi.waitFor(async () => expect(await warningAt({})).toContain(ALL_STAY), { timeout: 30_000 });
});
afterAll(async () => {
  await person?.close();
  await server?.stop();
});

async function warningAt(spec: object): Promise<string> {
  const { uid: _, resourceVersion: _r, ...metadata } = etcdBackupSchedule({ name: `s-${count++}` }).metadata;
  const { apiVersion, kind, spec: given } = etcdBackupSchedule({ spec });
  await person.create(ETCD_BACKUP_SCHEDULES, { apiVersion, kind, metadata, spec: given }, OPTIONS);
  return warnings;
}

test.each([
  ["without retention and history limit", {}, ALL_STAY],
  ["with a limit of failed EtcdBackups only", { failedBackupsHistoryLimit: 1 }, ALL_STAY],
  ["with a retention", { retention: { keepLast: 3 } }, ""],
  ["with a history limit", { successfulBackupsHistoryLimit: 3 }, ""],
])("a schedule %s is created with the right warning", async (_, spec, expected) => {
  const warning = await warningAt(spec);
  if (expected === "") expect(warning).toBe("");
  else expect(warning).toContain(expected);
});

test.each([
  ["with a limit", { retention: { keepLast: 3 } }, { suspend: true }, ""],
  ["without a limit", {}, { suspend: true }, ""],
  [
    "that gets another limit",
    { retention: { keepLast: 3 } },
    { retention: null, successfulBackupsHistoryLimit: 3 },
    "",
  ],
  ["that loses its retention", { retention: { keepLast: 3 } }, { retention: null }, ALL_STAY],
  [
    "that loses its history limit",
    { successfulBackupsHistoryLimit: 3 },
    { successfulBackupsHistoryLimit: null },
    ALL_STAY,
  ],
])("an edit of a schedule %s gives the right warning", async (_, before, spec, expected) => {
  await warningAt(before);
  const ref = { namespace, name: `s-${count - 1}` };
  await person.patch(ETCD_BACKUP_SCHEDULES, ref, { spec }, { ...OPTIONS, type: "merge" });
  if (expected === "") expect(warnings).toBe("");
  else expect(warnings).toContain(expected);
});
