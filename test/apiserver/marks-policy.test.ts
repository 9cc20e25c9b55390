import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  DELETE_OBJECT_ANNOTATION,
  FIRST_BACKUP_ANNOTATION,
  SCHEDULE_LABEL,
  SCHEDULE_UID_ANNOTATION,
} from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { schedule } from "#kit/snapshots/schedule.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Draft } from "#kube/kinds.ts";
import { archiveFor, backupFor } from "#schedule/desired/backup.ts";
import { ARCHIVES_BY_SCHEDULE, notByHand } from "../../scripts/marks-policy.ts";

// Only the operator may mark an EtcdBackup as made by a schedule. A real API server with the shipped manifests decides.
// The requests come from an account with every right, or from the operator's account.

const OPTIONS = { signal: new AbortController().signal };
const MERGE = { ...OPTIONS, type: "merge" } as const;
const namespace = "foo";

let server: ApiServer;
let admin: KubeClient;
let operator: KubeClient;

beforeAll(async () => {
  ({ server, admin, operator } = await startShipped({ namespace, kinds: [ETCD_BACKUPS] }));
  // A policy applies a moment after its creation.
  await vi.waitFor(() => expect(posed("probe", {}, "v1alpha1")).rejects.toThrow("by the operator alone"), {
    timeout: 30_000,
  });
});
afterAll(async () => await server?.stop());

/** An EtcdBackup as a schedule creates it, with a different name. */
function draft(name: string, metadata: object = {}): Draft<EtcdBackup> {
  const made = backupFor(schedule(), Date.UTC(2027, 0, 1), 0);
  return { ...made, metadata: { ...made.metadata, namespace, name, ...metadata } };
}

async function posed(name: string, metadata: object = {}, version = "v1beta1"): Promise<EtcdBackup> {
  const object = { ...draft(name, metadata), apiVersion: `${ETCD_BACKUPS.group}/${version}` };
  const alpha = { source: { clusterURL: "http://a:2379" }, destination: { objectURLTemplate: "s3://b/k.db" } };
  const spec = version === "v1beta1" ? object.spec : alpha;
  const as = { ...ETCD_BACKUPS, version };
  return await admin.create(as, { ...object, spec } as never, OPTIONS);
}

const LABEL = notByHand("labels", SCHEDULE_LABEL);
const [UID, DELETE, FIRST] = [SCHEDULE_UID_ANNOTATION, DELETE_OBJECT_ANNOTATION, FIRST_BACKUP_ANNOTATION].map(
  (mark) => [mark, notByHand("annotations", mark)] as const,
) as [readonly [string, string], readonly [string, string], readonly [string, string]];

describe("a user with the right to create EtcdBackups", () => {
  test.each<[string, object, string]>([
    ["a schedule's label", { annotations: {} }, LABEL],
    ["a label without a schedule", { annotations: {}, labels: { [SCHEDULE_LABEL]: "" } }, LABEL],
    ["a schedule's uid", { labels: {} }, UID[1]],
    ["the annotation of a retention", { labels: {}, annotations: { [DELETE[0]]: "true" } }, DELETE[1]],
    ["the annotation of an upgrade", { labels: {}, annotations: { [FIRST[0]]: "uid" } }, FIRST[1]],
  ])("may not create an EtcdBackup with %s", async (_, metadata, because) => {
    await expect(posed("posed", metadata)).rejects.toThrow(because);
    await expect(posed("posed", metadata, "v1alpha1")).rejects.toThrow(because);
  });

  test.each<[string, object, string]>([
    ["a schedule's label", { labels: { [SCHEDULE_LABEL]: "nightly" } }, LABEL],
    ["a schedule's uid", { annotations: { [UID[0]]: "uid" } }, UID[1]],
    ["the annotation of a retention", { annotations: { [DELETE[0]]: "true" } }, DELETE[1]],
    ["the annotation of an upgrade", { annotations: { [FIRST[0]]: "uid" } }, FIRST[1]],
  ])("may not add %s to an EtcdBackup", async (_, metadata, because) => {
    const plain = await posed("plain", { labels: { team: "storage" }, annotations: {} });
    await expect(admin.patch(ETCD_BACKUPS, plain.metadata, { metadata }, MERGE)).rejects.toThrow(because);
    const { uid, labels } = await admin.get(ETCD_BACKUPS, plain.metadata, OPTIONS).then(({ metadata: now }) => now);
    expect(labels).toEqual({ team: "storage" });
    await admin.delete(ETCD_BACKUPS, plain.metadata, { ...OPTIONS, preconditions: { uid } });
  });

  test("may not create an EtcdBackup with spec.archive, and may edit the one that the operator has created", async () => {
    const made = archiveFor(schedule({ spec: { archive: {} } }).schedule)!;
    const byHand = { ...made, metadata: { namespace, name: "by-hand" } };
    await expect(admin.create(ETCD_BACKUPS, byHand, OPTIONS)).rejects.toThrow(ARCHIVES_BY_SCHEDULE);
    const { archive: _, ...snapshot } = byHand.spec!;
    const { metadata } = await admin.create(ETCD_BACKUPS, { ...byHand, spec: snapshot }, OPTIONS);
    await admin.delete(ETCD_BACKUPS, metadata, { ...OPTIONS, preconditions: { uid: metadata.uid } });
    const archive = await operator.create(
      ETCD_BACKUPS,
      { ...made, metadata: { ...made.metadata, namespace } },
      OPTIONS,
    );
    const labels = { team: "storage" };
    const edited = await admin.patch(ETCD_BACKUPS, archive.metadata, { metadata: { labels } }, MERGE);
    expect(edited.metadata.labels).toMatchObject(labels);
  });

  test("may not change these labels and annotations of an EtcdBackup, and may remove each", async () => {
    const made = await operator.create(ETCD_BACKUPS, draft("nightly-20270101-000000"), OPTIONS);
    await operator.patch(ETCD_BACKUPS, made.metadata, { metadata: { annotations: { [DELETE[0]]: "true" } } }, MERGE);
    const edit = async (metadata: object) => await admin.patch(ETCD_BACKUPS, made.metadata, { metadata }, MERGE);
    await edit({ labels: { team: "storage" } });
    await expect(edit({ labels: { [SCHEDULE_LABEL]: "hourly" } })).rejects.toThrow(LABEL);
    await expect(edit({ annotations: { [UID[0]]: "another" } })).rejects.toThrow(UID[1]);
    await expect(edit({ annotations: { [DELETE[0]]: "false" } })).rejects.toThrow(DELETE[1]);
    await edit({ annotations: { [DELETE[0]]: null } });
    await edit({ labels: { [SCHEDULE_LABEL]: null }, annotations: { [UID[0]]: null } });
    await expect(edit({ labels: { [SCHEDULE_LABEL]: "nightly" } })).rejects.toThrow(LABEL);
  });
});
