import { expect, test } from "vitest";
import { DRY_RUN_ANNOTATION, FIRST_BACKUP_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster, EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { absent } from "#base/observed.ts";
import { Keyring } from "#certificates/keyring.ts";
import { trustMap } from "#cluster-tls/issue/desired/certificates.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { WHOLE } from "#kit/snapshots/cluster-rested.ts";
import { unissued } from "#kit/snapshots/cluster-tls.ts";
import { etcdBackup } from "#kit/snapshots/etcd-backup.ts";
import { quickCheckReads } from "#kit/snapshots/quick-check-reads.ts";
import { etcdBackupSchedule, TEMPLATE } from "#kit/snapshots/schedule.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { clusterController, clusterKeysForBackup, clusterKeysForSchedule } from "./controller.ts";
import { planCluster } from "./plan.ts";
import { clusterStatus } from "./status.ts";

const settled = cluster();
const KEY = { namespace: "foo", name: "my-etcd" };
const signal = new AbortController().signal;

/** The controller of a single cluster, and its writes. */
function setup(live: EtcdCluster | undefined) {
  const written: EtcdCluster[] = [];
  const replace = (_: unknown, object: EtcdCluster) => {
    written.push(object);
    return Promise.resolve(object);
  };
  const controller = clusterController(
    { kube: { replace }, etcd: {} } as never,
    { clusters: { get: () => live }, clock: new FakeClock() } as never,
  );
  return { controller, written };
}

test("writeFailing: writes the failure to the status once and keeps its other content", async () => {
  const { controller, written } = setup({ ...settled.cluster, status: clusterStatus(settled, planCluster(settled)) });
  await controller.writeFailing(KEY, "it fails", signal);
  const [failing] = written;
  const told = ({ status }: EtcdCluster) => status?.conditions?.find(({ type }) => type === "Progressing");
  expect(told(failing!)).toMatchObject({
    status: "False",
    reason: "InternalError",
    message: "it fails",
    observedGeneration: 1,
  });
  expect(failing!.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ status: "Unknown" });
  const { identity, members } = clusterStatus(settled, planCluster(settled));
  expect(failing!.status).toMatchObject({ identity, members });

  const large = setup({ ...settled.cluster, status: failing!.status! });
  await large.controller.writeFailing(KEY, "it is too large", signal, "ObjectTooLarge");
  expect(told(large.written[0]!)).toMatchObject({ reason: "ObjectTooLarge", message: "it is too large" });
  expect(large.written[0]!.status).toMatchObject({ identity, members });

  const again = setup(failing);
  expect(await again.controller.writeFailing(KEY, "it fails", signal)).toBeUndefined();
  expect(again.written).toEqual([]);

  const next = { ...settled, cluster: failing! };
  expect(told({ ...failing!, status: clusterStatus(next, planCluster(next)) })).toMatchObject({ reason: "Settled" });
});

test("a certificate object is not read again after the controller has written it", async () => {
  const { cluster: live } = unissued({ stage: "recorded" });
  const reads: string[] = [];
  const find = (_: unknown, { name }: { name: string }) => {
    reads.push(name);
    return Promise.resolve(absent);
  };
  const nothing = { get: () => undefined, byIndex: () => [] };
  const kinds = ["peers", "pods", "users", "roles", "schedules", "backups", "restores", "services", "budgets"];
  const views = Object.fromEntries([...kinds, "networkPolicies", "claims"].map((kind) => [kind, nothing]));
  const clock = new FakeClock();
  const controller = clusterController(
    { kube: { create: (_: unknown, object: object) => Promise.resolve(object) } } as never,
    { ...views, clusters: { get: () => live }, clock, identities: new Keyring(), kube: { find } } as never,
  );
  const seen = await controller.observe(KEY, signal);
  if (seen.is !== "present") throw new Error("the cluster is there");
  expect(reads).toContain("my-etcd-ca");
  await clock.advance(10_000);
  const map = trustMap(seen.value, "a certificate");
  await controller.act({ do: "createTrustMap", map }, seen.value, signal);
  reads.length = 0;
  expect(await controller.observe(KEY, signal)).toMatchObject({
    value: { certificates: { trustMap: { is: "present", value: map }, peer: absent } },
  });
  expect(reads).toContain("my-etcd-peer-tls");
  expect(reads).not.toContain("my-etcd-ca");
});

test("schedules, and backups before an upgrade, requeue their cluster", () => {
  const key = { namespace: "foo", name: "my-etcd" };
  expect(clusterKeysForSchedule(etcdBackupSchedule())).toEqual([key]);
  const backupTemplate = { spec: { ...TEMPLATE, source: { external: { endpoints: ["http://a:2379"] } } } };
  expect(clusterKeysForSchedule(etcdBackupSchedule({ spec: { backupTemplate } }))).toEqual([]);
  const backup = etcdBackup();
  expect(clusterKeysForBackup(backup)).toEqual([]);
  const metadata = { ...backup.metadata, annotations: { [FIRST_BACKUP_ANNOTATION]: "uid" } };
  expect(clusterKeysForBackup({ ...backup, metadata })).toEqual([key]);
});

test("writeFailing: writes nothing for a missing cluster", async () => {
  const { controller, written } = setup(undefined);
  expect(controller.subjectOf(KEY)).toBeUndefined();
  expect(await controller.writeFailing(KEY, "it fails", signal)).toBeUndefined();
  expect(written).toEqual([]);
  expect(setup(settled.cluster).controller.subjectOf(KEY)).toEqual(controller.subject(settled));
});

test("forecasts are limited in rate: the next observation has the previous forecast", () => {
  const { controller } = setup(undefined);
  const planOf = (spec: Partial<EtcdCluster["spec"]>) => {
    const given = cluster({ annotations: { [DRY_RUN_ANNOTATION]: "{}" }, spec });
    return controller.status(given, planCluster(given)).dryRun?.outcome;
  };
  expect(controller.status(settled, planCluster(settled))).not.toHaveProperty("plan");
  expect([planOf({}), planOf({ paused: true })]).toEqual(["Done", "Done"]);
});

test("quick checks follow an observation only when the status is up to date", async () => {
  const { reads, asked } = quickCheckReads();
  const controller = clusterController({} as never, { ...reads, kube: {}, identities: new Keyring() } as never);
  const look = async (status: EtcdClusterStatus) => {
    const snapshot = { ...WHOLE };
    await controller.writeStatus(snapshot, status, signal).catch(() => undefined);
    controller.restMs!(snapshot, { next: "settled" });
    const before = asked.length;
    for (let n = 0; n < 3; n++) await controller.quickCheck!(KEY, signal);
    return asked.length - before;
  };
  const { status } = WHOLE.cluster;
  expect(await look(status!)).toBe(3);
  expect(await look({ ...status!, leader: "my-etcd-2" })).toBe(0);
});
