import { expect, test } from "vitest";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import { OperatorError } from "#base/error.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { answered } from "#kit/answered.ts";
import { etcdBackup } from "#kit/etcd-backup.ts";
import type { KubeClient } from "#kube/client.ts";
import { liveAt, liveOf } from "#kube/live.ts";

const seen = etcdBackup();
const { signal } = new AbortController();
const kube = (get: () => Promise<unknown>) => ({ get }) as unknown as Pick<KubeClient, "get">;
const told = (found: Observed<EtcdBackup>) => kube(() => answered(found));

test("what is there by now is known by its uid", async () => {
  const edited = { ...seen, metadata: { ...seen.metadata, generation: 7 } };
  const another = { ...seen, metadata: { ...seen.metadata, uid: "another" } };
  expect(await liveOf(told(present(edited)), ETCD_BACKUPS, seen, signal)).toBe(edited);
  expect(await liveOf(told(present(another)), ETCD_BACKUPS, seen, signal)).toBeUndefined();
  expect(await liveOf(told(absent), ETCD_BACKUPS, seen, signal)).toBeUndefined();
  expect(await liveAt(told(present(another)), ETCD_BACKUPS, seen.metadata, signal)).toBe(another);
  expect(await liveAt(told(absent), ETCD_BACKUPS, seen.metadata, signal)).toBeUndefined();
});

test("who may not ask, or gets no answer, is told why: neither says that nothing is there", async () => {
  const refused = new OperatorError("KubeForbidden", "not granted");
  const forbidden = kube(() => Promise.reject(refused));
  await expect(liveOf(forbidden, ETCD_BACKUPS, seen, signal)).rejects.toBe(refused);
  const silent = told(unknown("no answer"));
  await expect(liveOf(silent, ETCD_BACKUPS, seen, signal)).rejects.toMatchObject({ code: "KubeUnavailable" });
});
