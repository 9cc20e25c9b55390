import { afterAll, beforeAll, expect, test } from "vitest";
import { planBackup } from "#backup/plan.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { backupStatus } from "#backup/status.ts";
import { present, unknown } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { KIND_SCHEMAS } from "#kit/clients/kind-schemas.ts";
import { type Kstatus, kstatuses, roundTrips } from "#kit/clients/typed-client.ts";
import { kstatusOf } from "#kit/kstatus.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startWithKinds } from "#kit/servers/shipped.ts";
import { etcdOf, roleLook, userLook } from "#kit/snapshots/access.ts";
import { cluster, sickFor } from "#kit/snapshots/cluster.ts";
import { NEWER, wanting, withStop } from "#kit/snapshots/cluster-rolling.ts";
import { asleep } from "#kit/snapshots/cluster-sleep.ts";
import { backup } from "#kit/snapshots/etcd-backup.ts";
import { ended, failed, jobOf, restore, withMember } from "#kit/snapshots/etcd-restore.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { run, schedule } from "#kit/snapshots/schedule.ts";
import type { Draft, KubeObject } from "#kube/kinds.ts";
import { planPeer } from "#peer/plan.ts";
import { peerStatus } from "#peer/status.ts";
import { planRestore } from "#restore/plan.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import { restoreStatus } from "#restore/status.ts";
import { planRole } from "#role/plan.ts";
import { roleStatus } from "#role/status.ts";
import { planSchedule } from "#schedule/plan.ts";
import { scheduleStatus } from "#schedule/status.ts";
import { planUser } from "#user/plan.ts";
import { userStatus } from "#user/status.ts";

// Flux, Helm and others wait for objects by kstatus. Each kind is read by that library, with statuses that the
// controllers compute, as the API server has stored them.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "default";

interface Judged extends KubeObject {
  readonly spec: object;
  readonly status?: object | undefined;
}

const ofBackup = (of: BackupSnapshot): Judged => ({ ...of.backup, status: backupStatus(of, planBackup(of)) });
const ofRestore = (of: RestoreSnapshot): Judged => ({ ...of.restore, status: restoreStatus(of, planRestore(of)) });
const ofPeer = (of: ReturnType<typeof peer>): Judged => ({ ...of.peer, status: peerStatus(of, planPeer(of)) });
const ofRole = (of: ReturnType<typeof roleLook>): Judged => ({ ...of.role, status: roleStatus(of, planRole(of)) });
const ofUser = (of: ReturnType<typeof userLook>): Judged => ({ ...of.user, status: userStatus(of, planUser(of)) });

function ofSchedule(given: Parameters<typeof schedule>[0]): Judged {
  const of = schedule(given);
  return { ...of.schedule, status: scheduleStatus(of, planSchedule(of)) };
}

function ofCluster(given: ClusterSnapshot): Judged {
  const of: ClusterSnapshot = { ...given, throughService: present(true) };
  return { ...of.cluster, status: clusterStatus(of, planCluster(of)) };
}

const running = restore();
const lost = withMember(running, 1, { filling: failed(jobOf(running, running.members[1]!), [ended(1)]) });
const oneDown = sickFor(cluster({ down: ["my-etcd-2"] }), "my-etcd-2", 60_000);
const failedRun = run(Date.parse("2026-01-01T12:00:00Z"), { phase: "Failed" });

const BY_CERTIFICATE = { spec: { authentication: { type: "Certificate" } } } as const;
/** A cluster without identity, to which the operator has not yet written its default of `spec.tls`. */
const NEW = etcdOf(null, { status: { identity: undefined } });

/** Objects in the states of their kinds, with what kstatus must say. */
const CASES: readonly (readonly [kind: string, state: string, Judged, Kstatus["status"]])[] = [
  ["EtcdBackup", "waits for its cluster", ofBackup(backup({ stage: "new", with: { cluster: undefined } })), "InProgress"],
  ["EtcdBackup", "runs", ofBackup(backup()), "InProgress"],
  ["EtcdBackup", "has failed", ofBackup(backup({ stage: "failed" })), "Failed"],
  ["EtcdBackup", "is stored", ofBackup(backup({ stage: "succeeded" })), "Current"],
  ["EtcdRestore", "runs", ofRestore(running), "InProgress"],
  ["EtcdRestore", "has failed", ofRestore(lost), "Failed"],
  ["EtcdRestore", "is complete", ofRestore(restore({ stage: "ready" })), "Current"],
  ["EtcdCluster", "is recorded", ofCluster(cluster({ stage: "recorded" })), "InProgress"],
  ["EtcdCluster", "starts", ofCluster(cluster({ stage: "starting" })), "InProgress"],
  ["EtcdCluster", "is updated", ofCluster(wanting(NEWER)), "InProgress"],
  ["EtcdCluster", "misses a member", ofCluster(oneDown), "InProgress"],
  ["EtcdCluster", "has a stopped update", ofCluster(withStop(wanting(NEWER), "my-etcd-2")), "Failed"],
  ["EtcdCluster", "has a refused spec", ofCluster(cluster({ spec: { etcd: { extraArgs: { "data-dir": "/x" } } } })), "Failed"],
  ["EtcdCluster", "sleeps", ofCluster(asleep()), "InProgress"],
  ["EtcdCluster", "is paused", ofCluster(cluster({ spec: { paused: true } })), "Current"],
  ["EtcdCluster", "is as the spec asks", ofCluster(cluster()), "Current"],
  ["EtcdPeer", "starts", ofPeer(peer({ stage: "starting" })), "InProgress"],
  ["EtcdPeer", "runs", ofPeer(peer()), "Current"],
  ["EtcdBackupSchedule", "is new", ofSchedule({}), "Current"],
  ["EtcdBackupSchedule", "is suspended", ofSchedule({ spec: { suspend: true } }), "Current"],
  ["EtcdBackupSchedule", "has a failed run", ofSchedule({ backups: [failedRun] }), "Current"],
  ["EtcdBackupSchedule", "is refused", ofSchedule({ spec: { schedule: "0 0 31 2 *" } }), "Failed"],
  ["EtcdRole", "has no cluster", ofRole(roleLook({ cluster: undefined })), "InProgress"],
  ["EtcdRole", "has an etcd that does not answer", ofRole(roleLook({ found: unknown("no answer") })), "InProgress"],
  ["EtcdRole", "is in etcd", ofRole(roleLook()), "Current"],
  ["EtcdUser", "has no cluster", ofUser(userLook({ cluster: undefined })), "InProgress"],
  ["EtcdUser", "has a taken name", ofUser(userLook({ claimed: false })), "InProgress"],
  ["EtcdUser", "has a new cluster without spec.tls yet", ofUser(userLook({ ...BY_CERTIFICATE, cluster: NEW })), "InProgress"],
  ["EtcdUser", "is refused", ofUser(userLook({ ...BY_CERTIFICATE, cluster: etcdOf(null) })), "Failed"],
  ["EtcdUser", "is bound", ofUser(userLook()), "Current"],
]; // biome-ignore format: a table

let server: ApiServer;
beforeAll(async () => {
  server = await startWithKinds([...KIND_SCHEMAS.values()].map(({ resource }) => resource));
});
afterAll(async () => await server?.stop());

let count = 0;

async function created({ apiVersion, kind, spec }: Judged): Promise<KubeObject> {
  const { resource } = KIND_SCHEMAS.get(kind)!;
  const draft = { apiVersion, kind, metadata: { namespace, name: `k-${count++}` }, spec };
  return await server.client.create(resource, draft as Draft<KubeObject>, OPTIONS);
}

async function withStatus(object: KubeObject, status: object | undefined): Promise<Judged> {
  const { resource } = KIND_SCHEMAS.get(object.kind)!;
  const draft = { ...object, status } as Draft<KubeObject>;
  return (await server.client.replace(resource, draft, { ...OPTIONS, subresource: "status" })) as Judged;
}

test("every kind has states", () => {
  expect(new Set(CASES.map(([kind]) => kind))).toEqual(new Set(KIND_SCHEMAS.keys()));
});

test.each(CASES)("kstatus: an %s that %s", async (_kind, _state, object, expected) => {
  const stored = await withStatus(await created(object), object.status);
  expect(stored.status).toEqual(object.status);
  const [answer] = await kstatuses([stored]);
  expect(answer?.status, answer?.message).toBe(expected);
  expect(kstatusOf(stored as Parameters<typeof kstatusOf>[0]), "the model of the unit tests").toBe(expected);
});

test("kstatus: an object is InProgress after an edit that the operator has not seen, and Terminating when deleted", async () => {
  const [, , object] = CASES.find(([, , , expected]) => expected === "Current")!;
  const edited = { ...object, metadata: { ...object.metadata, generation: 2 } };
  const deleted = { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
  const found = await kstatuses([edited, deleted]);
  expect(found.map(({ status }) => status)).toEqual(["InProgress", "Terminating"]);
});

test.each([...KIND_SCHEMAS.keys()])("kstatus: an %s that the operator has not seen yet is InProgress", async (kind) => {
  const [, , object] = CASES.find(([each]) => each === kind)!;
  const [answer] = await kstatuses([await created(object)]);
  expect(answer?.status, answer?.message).toBe("InProgress");
});

test("a Go client with structs reads every status, and knows all its fields", async () => {
  const objects = CASES.map(([, , object]) => object);
  const unread = (await roundTrips(objects, "required")).filter((each) => "error" in each);
  expect(unread).toEqual([]);
});
