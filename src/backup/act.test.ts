import { expect, test } from "vitest";
import { KEEP_OBJECT_ANNOTATION, OBJECT_FINALIZER, verificationJobName } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { actOnBackup, type BackupWrites } from "#backup/act.ts";
import { backupJob, deletionJob } from "#backup/desired/job.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { BackupStep } from "#backup/step.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { attempt, backup, goodTarget, IMAGE, removal } from "#kit/snapshots/etcd-backup.ts";
import { answered } from "#kit/tables/answered.ts";
import { fromRefusal, type Status } from "#kube/error.ts";
import type { KubeObject, Ref, Resource } from "#kube/kinds.ts";

const snapshot = backup();
const target = goodTarget(snapshot);
/** An EtcdBackup with policy Delete. */
const LEAVING = backup({ held: true, deleting: true, spec: { deletionPolicy: "Delete" } });
const createJob: BackupStep = { do: "createJob", job: backupJob(snapshot, target, IMAGE) };
const createDeletionJob: BackupStep = { do: "createDeletionJob", job: deletionJob(snapshot, target, IMAGE) };

interface Request {
  readonly verb: string;
  readonly of: string;
  readonly what?: unknown;
  readonly options?: object;
}

/** @returns the requests to the API server, in order; `create` is refused with `refusal` */
async function requestsOf(
  step: BackupStep,
  of: BackupSnapshot,
  live: Observed<EtcdBackup> = present(of.backup),
  refusal?: Status,
  jobs: readonly KubeObject[] = [],
  pods: readonly KubeObject[] = [],
) {
  const requests: Request[] = [];
  const note = (
    verb: string,
    resource: Resource<KubeObject>,
    what: unknown,
    { signal: _, ...options }: { signal: AbortSignal },
  ) => {
    requests.push({ verb, of: resource.plural, what, options });
  };
  const kube = {
    get: (resource: Resource<KubeObject>, ref: Ref, options: never) => {
      note("get", resource, ref, options);
      return answered(live);
    },
    list: (resource: Resource<KubeObject>, query: object, options: never) => {
      note("list", resource, query, options);
      const items = [...jobs, ...pods].filter(({ kind }) => kind === resource.kind);
      return Promise.resolve({ items, resourceVersion: "1" });
    },
    create: (resource: Resource<KubeObject>, draft: KubeObject, options: never) => {
      note("create", resource, draft.metadata.name, options);
      if (refusal !== undefined)
        return Promise.reject(fromRefusal({ call: "create jobs", httpCode: 403, status: refusal }));
      return Promise.resolve(draft);
    },
    patch: (resource: Resource<KubeObject>, _ref: Ref, patch: object, options: never) => {
      note("patch", resource, patch, options);
      return Promise.resolve(of.backup);
    },
    delete: (resource: Resource<KubeObject>, ref: Ref, options: never) => {
      note("delete", resource, ref, options);
      return Promise.resolve();
    },
    replace: (resource: Resource<KubeObject>, object: KubeObject, options: never) => {
      note("replace", resource, object, options);
      return Promise.resolve(object);
    },
  } as unknown as BackupWrites;
  const written = await actOnBackup(kube, step, of, new AbortController().signal);
  return { requests, written };
}

const verbs = ({ requests }: { requests: readonly Request[] }) => requests.map(({ verb, of }) => `${verb} ${of}`);

test("createJob: creates the Job when the EtcdBackup exists on the API server", async () => {
  expect(verbs(await requestsOf(createJob, snapshot))).toEqual(["get etcdbackups", "create jobs"]);
});

test("createJob: is refused for an EtcdBackup that is gone, being deleted, replaced or unreadable", async () => {
  const { metadata } = snapshot.backup;
  const another = { ...snapshot.backup, metadata: { ...metadata, uid: "another" } };
  const going = { ...snapshot.backup, metadata: { ...metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
  for (const live of [absent, present(another), present(going)])
    await expect(requestsOf(createJob, snapshot, live)).rejects.toMatchObject({ code: "KubeConflict" });
  await expect(requestsOf(createJob, snapshot, unknown("no answer"))).rejects.toMatchObject({
    code: "KubeUnavailable",
  });
});

test("createJob: is refused when the EtcdBackup on the API server has ended", async () => {
  for (const phase of ["Completed", "Failed"] as const) {
    const ended = { ...snapshot.backup, status: { phase } };
    await expect(requestsOf(createJob, snapshot, present(ended))).rejects.toMatchObject({ code: "KubeConflict" });
  }
});

test("createVerificationJob: creates the Job only for a completed EtcdBackup that is not verified yet", async () => {
  const step = { ...createJob, do: "createVerificationJob" } as BackupStep;
  const { backup: its } = snapshot;
  const live = (phase: "BackingUp" | "Completed" | "Failed", verify = true, verified?: "True") => {
    const conditions = verified && [{ type: "Verified", status: verified, reason: "", message: "", observedGeneration: 1, lastTransitionTime: "" }]; // biome-ignore format: one
    const status = { phase, ...(conditions && { conditions }) };
    return present({
      ...its,
      spec: { ...its.spec, verification: { mode: verify ? "Restore" : "None" } },
      status,
    } as EtcdBackup);
  };
  expect(verbs(await requestsOf(step, snapshot, live("Completed")))).toEqual(["get etcdbackups", "create jobs"]);
  for (const no of [live("Failed"), live("Completed", false), live("Completed", true, "True")])
    await expect(requestsOf(step, snapshot, no)).rejects.toMatchObject({ code: "KubeConflict" });
});

test("createCheckJob: creates the Job only for a completed EtcdBackup that exists", async () => {
  const step = { ...createJob, do: "createCheckJob" } as BackupStep;
  const live = (phase: "BackingUp" | "Completed" | "Failed") => present({ ...snapshot.backup, status: { phase } });
  expect(verbs(await requestsOf(step, snapshot, live("Completed")))).toEqual(["get etcdbackups", "create jobs"]);
  for (const other of [live("BackingUp"), live("Failed"), present(LEAVING.backup), absent])
    await expect(requestsOf(step, snapshot, other)).rejects.toMatchObject({ code: "KubeConflict" });
});

test("createJob: does not read an EtcdBackup that was created one second ago", async () => {
  const young = { ...snapshot, takenAtMs: Date.parse(snapshot.backup.metadata.creationTimestamp ?? "") + 1_000 };
  expect(verbs(await requestsOf(createJob, young, absent))).toEqual(["create jobs"]);
});

test("deleteJob: deletes the Job with its uid as precondition, and its pods with it", async () => {
  const { job } = attempt(snapshot, "running");
  const { requests, written } = await requestsOf({ do: "deleteJob", job }, snapshot);
  const ref = { namespace: "foo", name: "nightly" };
  const options = { preconditions: { uid: job.metadata.uid }, propagation: "Background" };
  expect(requests).toEqual([{ verb: "delete", of: "jobs", what: ref, options }]);
  expect(written).toMatchObject({ kind: "deleted", ref, uid: job.metadata.uid });
});

test("deletePod: deletes the pod with its uid as precondition", async () => {
  const { pods } = attempt(snapshot, "running");
  const { requests, written } = await requestsOf({ do: "deletePod", pod: pods[0]! }, snapshot);
  const { uid } = pods[0]!.metadata;
  const ref = { namespace: "foo", name: "nightly-abcde" };
  expect(requests).toEqual([{ verb: "delete", of: "pods", what: ref, options: { preconditions: { uid } } }]);
  expect(written).toMatchObject({ kind: "deleted", ref, uid });
});

test.each<[BackupStep["do"], readonly string[], readonly string[]]>([
  ["holdBackup", ["example.com/mine"], ["example.com/mine", OBJECT_FINALIZER]],
  ["releaseBackup", ["example.com/mine", OBJECT_FINALIZER], ["example.com/mine"]],
])(
  "%s: changes only the operator's finalizer, with uid and resourceVersion as preconditions",
  async (what, before, after) => {
    const { backup: its } = snapshot;
    const given = { ...snapshot, backup: { ...its, metadata: { ...its.metadata, finalizers: before } } };
    const { requests } = await requestsOf({ do: what } as BackupStep, given);
    const { uid, resourceVersion } = its.metadata;
    expect(requests.filter(({ verb }) => verb !== "list")).toMatchObject([
    { verb: "patch", of: "etcdbackups", what: { metadata: { finalizers: after } }, options: { type: "merge", preconditions: { uid, resourceVersion } } },
  ]); // biome-ignore format: a list
  },
);

const TERMINATING: Status = {
  kind: "Status",
  reason: "Forbidden",
  message: 'jobs.batch "x" is forbidden: unable to create new content in namespace foo because it is being terminated',
  details: {
    causes: [
      { reason: "NamespaceTerminating", message: "namespace foo is being terminated", field: "metadata.namespace" },
    ],
  },
};

test("createDeletionJob: removes the finalizer when the namespace is being deleted", async () => {
  const { requests, written } = await requestsOf(createDeletionJob, LEAVING, present(LEAVING.backup), TERMINATING);
  expect(requests.map(({ verb, of }) => `${verb} ${of}`)).toEqual([
    "list pods",
    "get etcdbackups",
    "create jobs",
    "patch etcdbackups",
  ]);
  expect(requests[3]).toMatchObject({ what: { metadata: { finalizers: [] } } });
  expect(written).toEqual({ kind: "external" });
});

test.each<BackupStep>([{ do: "releaseBackup" }, createDeletionJob])(
  "$do: is refused while a Job that may store something exists and the cache is stale",
  async (what) => {
    const held = backup({ stage: "new", held: true, deleting: true, spec: { deletionPolicy: "Delete" } });
    const { job } = attempt(held, "running");
    const asked = (...jobs: readonly KubeObject[]) => requestsOf(what, held, undefined, undefined, jobs);
    await expect(asked(job)).rejects.toMatchObject({ code: "KubeConflict" });
    const going = { ...job, metadata: { ...job.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
    const theirs = { ...job, metadata: { ...job.metadata, ownerReferences: [] } };
    const { requests } = await asked(going, theirs);
    expect(requests[0]).toEqual({
      verb: "list",
      of: "jobs",
      what: { namespace: "foo", fieldSelector: "metadata.name=nightly" },
      options: {},
    });
    expect(requests.slice(1).map(({ verb, of }) => `${verb} ${of}`)).toEqual([
      "list pods",
      ...(what.do === "releaseBackup" ? ["patch etcdbackups"] : ["get etcdbackups", "create jobs"]),
    ]);
  },
);

test.each<BackupStep>([{ do: "releaseBackup" }, createDeletionJob])(
  "$do: is refused while an unobserved pod may store something, unless the object is kept",
  async (what) => {
    const { pods } = attempt(LEAVING, "running");
    const asked = (pod: KubeObject, of = LEAVING) =>
      requestsOf(what, of, present(LEAVING.backup), undefined, [], [pod]);
    const [running] = pods;
    await expect(asked(running!)).rejects.toMatchObject({ code: "KubeConflict" });
    const { requests } = await asked({ ...running!, status: { phase: "Failed" } } as KubeObject);
    expect(requests[0]).toEqual({
      verb: "list",
      of: "pods",
      what: { namespace: "foo", labelSelector: "etcd.improbable.io/backup-name=nightly" },
      options: {},
    });
    const [removing] = removal(LEAVING, "running").pods;
    const [owner] = running!.metadata.ownerReferences!;
    const ownerReferences = [{ ...owner!, name: verificationJobName(LEAVING.backup.metadata.uid) }];
    const verifying = { ...running!, metadata: { ...running!.metadata, ownerReferences } };
    for (const pod of [removing!, verifying]) await asked(pod);
    const annotations = { [KEEP_OBJECT_ANNOTATION]: "true" };
    const kept = { ...LEAVING.backup, metadata: { ...LEAVING.backup.metadata, annotations } };
    await asked(running!, { ...LEAVING, backup: kept });
  },
);

const { backup: leaving } = LEAVING;
test.each<[string, Observed<EtcdBackup>, string]>([
  ["gone", absent, "KubeConflict"],
  ["unreadable", unknown("timeout"), "KubeUnavailable"],
  ["recreated", present({ ...leaving, metadata: { ...leaving.metadata, uid: "x" } }), "KubeConflict"],
  ["annotated to keep its object", present({ ...leaving, metadata: { ...leaving.metadata, annotations: { [KEEP_OBJECT_ANNOTATION]: "true" } } }), "KubeConflict"],
  ["no longer of policy Delete", present({ ...leaving, spec: { ...leaving.spec, deletionPolicy: "Retain" } }), "KubeConflict"],
])("createDeletionJob: is refused for an EtcdBackup that is %s", async (_, live, code) => {
  await expect(requestsOf(createDeletionJob, LEAVING, live)).rejects.toMatchObject({ code });
}); // biome-ignore format: a table

test("createDeletionJob: passes on a refusal for any other reason, such as a quota", async () => {
  const quota: Status = { kind: "Status", reason: "Forbidden", message: "exceeded quota: q", details: {} };
  const refused = requestsOf(createDeletionJob, LEAVING, undefined, quota);
  await expect(refused).rejects.toMatchObject({
    code: "KubeInvalid",
    message: expect.stringContaining("exceeded quota: q"),
  });
});
