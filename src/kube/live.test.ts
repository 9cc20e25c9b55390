import { expect, test } from "vitest";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import { OperatorError } from "#base/error.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { etcdBackup } from "#kit/snapshots/etcd-backup.ts";
import { answered } from "#kit/tables/answered.ts";
import type { KubeClient } from "#kube/client.ts";
import { liveAt, liveOf } from "#kube/live.ts";

const seen = etcdBackup();
const { signal } = new AbortController();
const kube = (get: () => Promise<unknown>) => ({ get }) as unknown as Pick<KubeClient, "get">;
const returning = (found: Observed<EtcdBackup>) => kube(() => answered(found));

test("a live object is the observed object only when its uid is the same", async () => {
  const edited = { ...seen, metadata: { ...seen.metadata, generation: 7 } };
  const another = { ...seen, metadata: { ...seen.metadata, uid: "another" } };
  expect(await liveOf(returning(present(edited)), ETCD_BACKUPS, seen, signal)).toBe(edited);
  expect(await liveOf(returning(present(another)), ETCD_BACKUPS, seen, signal)).toBeUndefined();
  expect(await liveOf(returning(absent), ETCD_BACKUPS, seen, signal)).toBeUndefined();
  expect(await liveAt(returning(present(another)), ETCD_BACKUPS, seen.metadata, signal)).toBe(another);
  expect(await liveAt(returning(absent), ETCD_BACKUPS, seen.metadata, signal)).toBeUndefined();
});

test("a refused or unanswered request is an error, and does not mean that the object is absent", async () => {
  const refused = new OperatorError("KubeForbidden", "not granted");
  const forbidden = kube(() => Promise.reject(refused));
  await expect(liveOf(forbidden, ETCD_BACKUPS, seen, signal)).rejects.toBe(refused);
  const silent = returning(unknown("no answer"));
  await expect(liveOf(silent, ETCD_BACKUPS, seen, signal)).rejects.toMatchObject({ code: "KubeUnavailable" });
});
