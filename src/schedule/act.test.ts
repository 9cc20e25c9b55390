import { expect, test } from "vitest";
import { DELETE_OBJECT_ANNOTATION, OBJECT_FINALIZER } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore, EtcdRestoreSpec, EtcdRestoreStatus } from "#api/v1beta1/restore.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { run, schedule, source } from "#kit/snapshots/schedule.ts";
import { answered } from "#kit/tables/answered.ts";
import type { KubeObject, Ref, Resource } from "#kube/kinds.ts";
import { actOnSchedule, type ScheduleWrites } from "#schedule/act.ts";
import { backupFor } from "#schedule/desired/backup.ts";
import type { ScheduleStep } from "#schedule/step.ts";

const HOUR = 3_600_000;
const signal = new AbortController().signal;
const snapshot = schedule();
const [older, newer] = [run(NOW - HOUR, { metadata: { finalizers: ["theirs"] } }), run(NOW)];
const asked = { verb: "get", what: "etcdbackupschedules/nightly", options: {} };
const create: ScheduleStep = { do: "createBackup", backup: backupFor(snapshot, NOW, 0) };

interface Request {
  readonly verb: string;
  readonly what: string;
  readonly body?: unknown;
  readonly options?: object;
}

const alive = present<KubeObject>(snapshot.schedule);

/**
 * Requests to the API server, in order. @param live its answer about a requested backup @param seen its answer about
 * the schedule
 */
function recorder(
  live: Observed<KubeObject>,
  seen: Observed<KubeObject> = alive,
  restores: readonly EtcdRestore[] = [],
  clusters: readonly EtcdCluster[] = [],
) {
  const requests: Request[] = [];
  const note = (
    verb: string,
    { plural }: Resource<KubeObject>,
    name: string,
    body: unknown,
    given: { signal: AbortSignal },
  ) => {
    const { signal: _, ...options } = given;
    requests.push({ verb, what: `${plural}/${name}`, ...(body === undefined ? {} : { body }), options });
  };
  const kube = {
    get: (of: Resource<KubeObject>, { name }: Ref, options: never) => {
      note("get", of, name, undefined, options);
      return answered(of.plural === "etcdbackups" ? live : seen);
    },
    list: (of: Resource<KubeObject>, { namespace }: { namespace: string }, options: never) => {
      note("list", of, namespace, undefined, options);
      return Promise.resolve({ items: of.plural === "etcdclusters" ? clusters : restores });
    },
    create: (of: Resource<KubeObject>, draft: KubeObject, options: never) => {
      note("create", of, draft.metadata.name, undefined, options);
      return Promise.resolve(draft);
    },
    patch: (of: Resource<KubeObject>, { name }: Ref, patch: object, options: never) => {
      note("patch", of, name, patch, options);
      return Promise.resolve(older);
    },
    replace: (of: Resource<KubeObject>, object: KubeObject, options: never) => {
      note("replace", of, object.metadata.name, undefined, options);
      return Promise.resolve(object);
    },
    delete: (of: Resource<KubeObject>, { name }: Ref, options: never) => {
      note("delete", of, name, undefined, options);
      return Promise.resolve();
    },
  } as unknown as ScheduleWrites;
  return { kube, requests };
}

async function requestsOf(step: ScheduleStep, live: Observed<KubeObject>): Promise<readonly Request[]> {
  const { kube, requests } = recorder(live);
  await actOnSchedule(kube, step, snapshot, signal);
  return requests;
}

test("a backup is created after the EtcdBackupSchedule was read from the API server", async () => {
  expect(await requestsOf(create, absent)).toEqual([
    asked,
    { verb: "create", what: "etcdbackups/nightly-20260101-120000", options: {} },
  ]);
});

test.each<[string, Observed<KubeObject>, string]>([
  ["gone", absent, "KubeConflict"],
  ["unreadable", unknown("timeout"), "KubeUnavailable"],
  ["recreated", present({ ...snapshot.schedule, metadata: { ...snapshot.schedule.metadata, uid: "x" } }), "KubeConflict"],
  ["edited", present({ ...snapshot.schedule, metadata: { ...snapshot.schedule.metadata, generation: 2 } }), "KubeConflict"],
  ["being deleted", present(schedule({ deleting: true }).schedule), "KubeConflict"],
])("no backup is created or deleted for a schedule that the API server shows as %s", async (_, seen, code) => {
  const deleted = { backup: older, keepers: [newer] };
  for (const step of [create, { do: "deleteBackup", ...deleted }, { do: "giveObject", ...deleted }] satisfies ScheduleStep[]) {
    const { kube, requests } = recorder(present<KubeObject>(newer), seen);
    await expect(actOnSchedule(kube, step, snapshot, signal)).rejects.toMatchObject({ code });
    expect(requests.map(({ verb }) => verb)).toEqual(["get"]);
  }
}); // biome-ignore format: a table

test.each<[string, string | undefined, boolean]>([
  ["it is created when the API server has the same", snapshot.schedule.status?.lastScheduleTime, true],
  ["it is not created when the API server has a later one", "2026-01-01T12:30:00Z", false],
  ["it is not created when the API server has none", undefined, false],
])(
  "a run is created only when status.lastScheduleTime is still the observed one: %s",
  async (_, lastScheduleTime, isMade) => {
    const { schedule: given } = snapshot;
    const live = { ...given, status: { ...given.status, lastScheduleTime } };
    const { kube, requests } = recorder(absent, present<KubeObject>(live));
    const done = actOnSchedule(kube, create, snapshot, signal);
    if (isMade) await done;
    else await expect(done).rejects.toMatchObject({ code: "KubeConflict" });
    expect(requests.map(({ verb }) => verb)).toEqual(isMade ? ["get", "create"] : ["get"]);
    // Deletions do not depend on runs.
    const other = recorder(present<KubeObject>(newer), present<KubeObject>(live));
    await actOnSchedule(other.kube, { do: "deleteBackup", backup: older, keepers: [newer] }, snapshot, signal);
    expect(other.requests.at(-1)?.verb).toBe("delete");
  },
);

const preconditions = { uid: older.metadata.uid, resourceVersion: "100" };
const restored = { verb: "list", what: "etcdrestores/foo", options: {} };
const begun = { verb: "list", what: "etcdclusters/foo", options: {} };
const looked = { verb: "get", what: `etcdbackups/${newer.metadata.name}`, options: {} };

test("a good backup is deleted with uid and resourceVersion after its later backup was read", async () => {
  const requests = await requestsOf(
    { do: "deleteBackup", backup: older, keepers: [newer] },
    present<KubeObject>(newer),
  );
  const options = { preconditions, propagation: "Background" };
  expect(requests).toEqual([
    asked,
    looked,
    restored,
    begun,
    { verb: "delete", what: `etcdbackups/${older.metadata.name}`, options },
  ]);
});

test("a backup without a later one is deleted without reading another EtcdBackup", async () => {
  const requests = await requestsOf({ do: "deleteBackup", backup: older, keepers: [] }, absent);
  expect(requests.map(({ verb }) => verb)).toEqual(["get", "list", "list", "delete"]);
  expect(requests[0]).toEqual(asked);
  const failed = { ...older, status: { ...older.status, phase: "Failed" as const } };
  const unread = await requestsOf({ do: "deleteBackup", backup: failed, keepers: [] }, absent);
  expect(unread.map(({ verb }) => verb)).toEqual(["get", "delete"]);
});

test("an object's mark and the finalizer are set in one patch, and removed in one patch", async () => {
  const options = { type: "merge", preconditions };
  const patch = (annotation: string | null, finalizers: readonly string[]) => ({
    verb: "patch",
    what: `etcdbackups/${older.metadata.name}`,
    body: { metadata: { annotations: { [DELETE_OBJECT_ANNOTATION]: annotation }, finalizers } },
    options,
  });
  const live = present<KubeObject>(newer);
  expect(await requestsOf({ do: "giveObject", backup: older, keepers: [newer] }, live)).toEqual([
    asked,
    looked,
    restored,
    patch("true", ["theirs", OBJECT_FINALIZER]),
  ]);
  const given = { ...older, metadata: { ...older.metadata, finalizers: [OBJECT_FINALIZER, "theirs"] } };
  expect(await requestsOf({ do: "giveObject", backup: given, keepers: [newer] }, live)).toEqual([
    asked,
    looked,
    restored,
    patch("true", ["theirs", OBJECT_FINALIZER]),
  ]);
  expect(await requestsOf({ do: "keepObject", backup: given }, absent)).toEqual([patch(null, ["theirs"])]);
  const deleted = { ...given, spec: { ...given.spec, deletionPolicy: "Delete" as const } };
  expect(await requestsOf({ do: "keepObject", backup: deleted }, absent)).toEqual([
    patch(null, ["theirs", OBJECT_FINALIZER]),
  ]);
});

test.each<[string, Observed<EtcdBackup>, string]>([
  ["gone", absent, "KubeConflict"],
  ["unreadable", unknown("timeout"), "KubeUnavailable"],
  ["recreated", present(run(NOW, { metadata: { uid: "x" } })), "KubeConflict"],
  ["being deleted", present(run(NOW, { deleting: true })), "KubeConflict"],
  [
    "defective by a verification that has just ended",
    present(run(NOW, { doubted: "VerificationFailed" })),
    "KubeConflict",
  ],
  ["not verified yet, with spec.verification", present(run(NOW, { doubted: "open" })), "KubeConflict"],
  ["failed", present(run(NOW, { phase: "Failed" })), "KubeConflict"],
])("no backup is deleted when the API server shows its later backup as %s", async (_, live, code) => {
  for (const what of ["deleteBackup", "giveObject"] as const) {
    const { kube, requests } = recorder(live);
    const done = actOnSchedule(kube, { do: what, backup: older, keepers: [newer] }, snapshot, signal);
    await expect(done).rejects.toMatchObject({ code });
    expect(requests.map(({ verb }) => verb)).toEqual(["get", "get"]);
  }
});

test.each<[string, EtcdRestoreSpec["source"], EtcdRestoreStatus | undefined, boolean]>([
  ["that is new prevents it", { backupName: older.metadata.name }, undefined, false],
  ["that reads the backup prevents it", { backupName: older.metadata.name }, { phase: "Pending" }, false],
  ["that has filled all claims allows it", { backupName: older.metadata.name }, { phase: "Pending", begun: true }, true],
  ["that has completed allows it", { backupName: older.metadata.name }, { phase: "Completed" }, true],
  ["that has failed allows it", { backupName: older.metadata.name }, { phase: "Failed" }, true],
  ["that reads another backup allows it", { backupName: newer.metadata.name }, undefined, true],
])("deleting a backup, with an EtcdRestore that a stale cache does not show: one %s", async (_, source, status, isDeleted) => {
  const made = { metadata: { namespace: "foo", name: "back" }, spec: { source }, status } as EtcdRestore;
  for (const what of ["deleteBackup", "giveObject"] as const) {
    const { kube, requests } = recorder(present<KubeObject>(newer), alive, [made]);
    const done = actOnSchedule(kube, { do: what, backup: older, keepers: [newer] }, snapshot, signal);
    if (isDeleted) await done;
    else await expect(done).rejects.toMatchObject({ code: "KubeConflict" });
    expect(requests.map(({ verb }) => verb).slice(0, 3)).toEqual(["get", "get", "list"]);
    // EtcdClusters are read before what is final.
    expect(requests).toHaveLength(isDeleted ? (what === "deleteBackup" ? 5 : 4) : 3);
  }
}); // biome-ignore format: a table

test.each<[string, object, EtcdCluster["status"], boolean]>([
  [
    "that will begin with the backup prevents it",
    { fromBackup: { source: { backupName: older.metadata.name } } },
    undefined,
    false,
  ],
  [
    "that has formed allows it",
    { fromBackup: { source: { backupName: older.metadata.name } } },
    { identity: {} } as never,
    true,
  ],
  [
    "that will begin with another backup allows it",
    { fromBackup: { source: { backupName: newer.metadata.name } } },
    undefined,
    true,
  ],
])(
  "deleting a backup, with an EtcdCluster that has no EtcdRestore yet: one %s",
  async (_, bootstrap, status, isDeleted) => {
    const cluster = { ...source({}), spec: { ...source({}).spec, bootstrap }, status } as EtcdCluster;
    const { kube } = recorder(present<KubeObject>(newer), alive, [], [cluster]);
    const done = actOnSchedule(kube, { do: "deleteBackup", backup: older, keepers: [newer] }, snapshot, signal);
    if (isDeleted) await done;
    else
      await expect(done).rejects.toMatchObject({
        code: "KubeConflict",
        message: expect.stringContaining("will begin with EtcdBackup"),
      });
  },
);
