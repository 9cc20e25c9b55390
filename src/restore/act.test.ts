import { describe, expect, test } from "vitest";
import { CLAIMS_FINALIZER } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { claimAt, clusterOf, etcdRestore, foreignClaim, jobOf, restore } from "#kit/snapshots/etcd-restore.ts";
import { answered } from "#kit/tables/answered.ts";
import type { KubeObject, PersistentVolumeClaim, Ref, Resource } from "#kube/kinds.ts";
import { actOnRestore, type RestoreWrites } from "#restore/act.ts";
import { restoredCluster } from "#restore/desired/cluster.ts";
import { restoredClaim } from "#restore/desired/member.ts";
import { identityAnnotations } from "#restore/identity.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreStep } from "#restore/step.ts";

const snapshot = restore();
const claim = claimAt(snapshot, "restored-0");
const job = jobOf(snapshot, snapshot.members[0]!);
const annotations = identityAnnotations(snapshot.restore, "restored-0");
const createJob: RestoreStep = { do: "createJob", job, member: "restored-0" };

interface Request {
  readonly verb: string;
  readonly of: string;
  readonly what?: unknown;
  readonly options?: object;
}

interface Live {
  readonly restore?: Observed<KubeObject>;
  readonly cluster?: Observed<EtcdCluster>;
  readonly claim?: Observed<KubeObject>;
  /** Members with different claims. */
  readonly claimNamed?: (name: string) => Observed<KubeObject>;
}

/** @returns the requests to the API server, in order */
async function requestsOf(step: RestoreStep, of: RestoreSnapshot = snapshot, live: Live = {}) {
  const requests: Request[] = [];
  const note = (verb: string, resource: Resource<KubeObject>, what: unknown, options: { signal: AbortSignal }) => {
    const { signal: _, ...rest } = options;
    requests.push({ verb, of: resource.plural, what, options: rest });
  };
  const kube = {
    get: (resource: Resource<KubeObject>, ref: Ref, options: never) => {
      note("get", resource, ref, options);
      if (resource.plural === "persistentvolumeclaims")
        return answered(live.claimNamed?.(ref.name) ?? live.claim ?? absent);
      const there = resource.plural === "etcdrestores" ? live.restore : live.cluster;
      return answered<KubeObject>(there ?? (resource.plural === "etcdrestores" ? present(of.restore) : absent));
    },
    create: (resource: Resource<KubeObject>, draft: KubeObject, options: never) => {
      note("create", resource, draft.metadata.name, options);
      return Promise.resolve(draft);
    },
    patch: (resource: Resource<KubeObject>, { name }: Ref, patch: object, options: never) => {
      note("patch", resource, patch, options);
      return Promise.resolve({ metadata: { name } });
    },
    delete: (resource: Resource<KubeObject>, { name }: Ref, options: never) => {
      note("delete", resource, name, options);
      return Promise.resolve();
    },
    replace: (resource: Resource<KubeObject>, object: KubeObject, options: never) => {
      note("replace", resource, object, options);
      return Promise.resolve(object);
    },
  } as unknown as RestoreWrites;
  const written = await actOnRestore(kube, step, of, new AbortController().signal);
  return { requests, written, kube };
}

const verbs = ({ requests }: { requests: readonly Request[] }) => requests.map(({ verb, of }) => `${verb} ${of}`);

test("claims and Jobs are created only while their EtcdRestore exists", async () => {
  const makes: readonly [RestoreStep, readonly string[]][] = [
    [
      { do: "createClaim", claim: restoredClaim(snapshot, "restored-0") },
      ["get etcdrestores", "create persistentvolumeclaims"],
    ],
    [createJob, ["get etcdrestores", "get etcdclusters", "create jobs"]],
  ];
  const another = etcdRestore();
  const gone = [
    absent,
    present({ ...another, metadata: { ...another.metadata, uid: "another" } }),
    present(etcdRestore({ deleting: true })),
  ];
  for (const [step, wanted] of makes) {
    const done = await requestsOf(step);
    expect(verbs(done)).toEqual(wanted);
    expect(done.written).toMatchObject({ kind: "stored" });
    for (const live of gone)
      await expect(requestsOf(step, snapshot, { restore: live })).rejects.toMatchObject({ code: "KubeConflict" });
    await expect(requestsOf(step, snapshot, { restore: unknown("no") })).rejects.toMatchObject({
      code: "KubeUnavailable",
    });
  }
});

describe("the restored cluster", () => {
  const identified = restore({ stage: "told" });
  const make: RestoreStep = { do: "createCluster", cluster: restoredCluster(identified) };

  test("has no owner, and so no label instance", () => {
    expect(make).toMatchObject({
      cluster: { metadata: { labels: { "etcd.improbable.io/cluster-name": "restored" } } },
    });
    expect(restoredCluster(identified).metadata.labels).not.toHaveProperty("app.kubernetes.io/instance");
    expect(restoredCluster(identified).metadata).not.toHaveProperty("ownerReferences");
  });

  const claimsOf = (change: (claim: PersistentVolumeClaim) => PersistentVolumeClaim | undefined) => ({
    claimNamed: (name: string) => {
      const known = identified.members.find((member) => member.name === name)?.claim;
      const there = known === undefined ? undefined : name === "restored-1" ? change(known) : known;
      return there === undefined ? absent : present(there);
    },
  });

  test("is created only while its EtcdRestore and its claims exist", async () => {
    const done = await requestsOf(make, identified, claimsOf((claim) => claim)); // biome-ignore format: one line
    const asked = ["get etcdrestores", ...Array(3).fill("get persistentvolumeclaims")];
    expect(verbs(done)).toEqual([...asked, "create etcdclusters"]);
    expect(done.written).toMatchObject({ kind: "stored" });
  });

  test.each<[string, (claim: PersistentVolumeClaim) => PersistentVolumeClaim | undefined]>([
    ["is gone", () => undefined],
    [
      "is being deleted",
      (claim) => ({ ...claim, metadata: { ...claim.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } }),
    ],
    ["was replaced", (claim) => ({ ...claim, metadata: { ...claim.metadata, uid: "another" } })],
    ["has lost its identity", (claim) => ({ ...claim, metadata: { ...claim.metadata, annotations: {} } })],
  ])("is not created when a claim %s and the cache is stale", async (_, change) => {
    const known = { plural: "persistentvolumeclaims", name: "restored-1" };
    await expect(requestsOf(make, identified, claimsOf(change))).rejects.toMatchObject({ code: "KubeConflict", known });
  });

  test("is not created when its EtcdRestore is gone", async () => {
    const live = { ...claimsOf((claim) => claim), restore: absent };
    await expect(requestsOf(make, identified, live)).rejects.toMatchObject({ code: "KubeConflict" });
  });
});

test("no Job is created for a claim that a cluster may be taking, even with a stale cache", async () => {
  const cluster = clusterOf(snapshot);
  const formed = clusterOf(snapshot, true);
  const known = { ...snapshot, cluster };
  const conflict = { code: "KubeConflict" };
  await expect(requestsOf(createJob, snapshot, { cluster: present(cluster) })).rejects.toMatchObject(conflict);
  await expect(requestsOf(createJob, known, { cluster: present(formed) })).rejects.toMatchObject(conflict);
  await expect(requestsOf(createJob, snapshot, { cluster: unknown("no") })).rejects.toMatchObject({
    code: "KubeUnavailable",
  });
  expect(verbs(await requestsOf(createJob, known, { cluster: present(cluster) }))).toContain("create jobs");
});

test("a claim that a cluster has taken is not annotated, even with a stale cache", async () => {
  const tell: RestoreStep = { do: "identifyClaim", claim, annotations };
  const taken = present(clusterOf(snapshot, true));
  await expect(requestsOf(tell, snapshot, { cluster: taken })).rejects.toMatchObject({ code: "KubeConflict" });
  const waiting = present(clusterOf(snapshot));
  expect(verbs(await requestsOf(tell, snapshot, { cluster: waiting }))).toContain("patch persistentvolumeclaims");
});

test("a claim is patched and deleted with its observed uid and resourceVersion as preconditions", async () => {
  const { uid, resourceVersion } = claim.metadata;
  const preconditions = { uid, resourceVersion };
  const identified = await requestsOf({ do: "identifyClaim", claim, annotations });
  expect(identified.requests.filter(({ verb }) => verb !== "get")).toEqual([
    {
      verb: "patch",
      of: "persistentvolumeclaims",
      what: { metadata: { annotations } },
      options: { type: "merge", preconditions },
    },
  ]);
  expect(identified.written).toMatchObject({ kind: "stored" });
  const gone = await requestsOf({ do: "deleteClaim", claim }, restore({ deleting: true }));
  expect(gone.requests.filter(({ verb }) => verb !== "get")).toEqual([
    { verb: "delete", of: "persistentvolumeclaims", what: "restored-0", options: { preconditions } },
  ]);
  expect(gone.written).toMatchObject({ kind: "deleted", uid, ref: { namespace: "foo", name: "restored-0" } });
});

describe("a claim of a failed or deleted restore", () => {
  const given = restore({ deleting: true });
  const remove: RestoreStep = { do: "deleteClaim", claim };

  test("is deleted when no cluster on the API server can be using it", async () => {
    const wanted = ["get etcdrestores", "get etcdclusters", ...Array(3).fill("get persistentvolumeclaims")];
    expect(verbs(await requestsOf(remove, given, { claim: present(claim) }))).toEqual([
      ...wanted,
      "delete persistentvolumeclaims",
    ]);
    expect(verbs(await requestsOf(remove, given))).toContain("delete persistentvolumeclaims");
  });

  const began = { ...given.restore, status: { phase: "Failed", begun: true } } as const;
  test.each<{ what: string; live: Live }>([
    { what: "a cluster has taken the claims", live: { cluster: present(clusterOf(given, true)) } },
    { what: "a cluster was created from the claims", live: { cluster: present(clusterOf(given)) } },
    { what: "another claim has an identity", live: { claim: present(claimAt(given, "restored-1", true)) } },
    { what: "the status records that a cluster may have begun", live: { restore: present(began) } },
    { what: "the EtcdRestore is neither deleted nor failed", live: { restore: present(etcdRestore()) } },
    { what: "the EtcdRestore is gone", live: { restore: absent } },
  ])("is not deleted when $what, even with a stale cache", async ({ live }) => {
    await expect(requestsOf(remove, given, live)).rejects.toMatchObject({ code: "KubeConflict" });
  });

  test("is not deleted when the API server does not answer", async () => {
    for (const live of [{ restore: unknown("no") }, { cluster: unknown("no") }, { claim: unknown("no") }])
      await expect(requestsOf(remove, given, live)).rejects.toMatchObject({ code: "KubeUnavailable" });
  });
});

test("a Job is deleted with its uid as precondition, and its pods with it", async () => {
  const { requests, written } = await requestsOf({ do: "deleteJob", job });
  const { uid, name } = job.metadata;
  expect(requests).toEqual([
    { verb: "delete", of: "jobs", what: name, options: { preconditions: { uid }, propagation: "Background" } },
  ]);
  expect(written).toMatchObject({ kind: "deleted", uid });
});

test("adding or removing the finalizer keeps other finalizers and has uid and resourceVersion as preconditions", async () => {
  const bare = restore({ held: false });
  const options = { type: "merge", preconditions: { uid: bare.restore.metadata.uid, resourceVersion: "100" } };
  const patch = (finalizers: readonly string[]) => [
    { verb: "patch", of: "etcdrestores", what: { metadata: { finalizers } }, options },
  ];
  expect((await requestsOf({ do: "holdRestore" }, bare)).requests).toEqual(patch([CLAIMS_FINALIZER]));
  const held = {
    ...bare,
    restore: { ...bare.restore, metadata: { ...bare.restore.metadata, finalizers: ["x", CLAIMS_FINALIZER] } },
  };
  const released = await requestsOf({ do: "releaseRestore" }, held);
  expect(released.requests.slice(-1)).toEqual(patch(["x"]));
  expect(released.written).toMatchObject({ kind: "stored" });
  // After the last finalizer no cache will show the EtcdRestore.
  expect((await requestsOf({ do: "releaseRestore" }, restore({ deleting: true }))).written).toEqual({
    kind: "external",
  });
});

test("the finalizer stays while a claim exists that the cache does not show", async () => {
  const bare = restore({ stage: "new", held: true, deleting: true });
  const release = (of: RestoreSnapshot, claims: Observed<KubeObject>) =>
    requestsOf({ do: "releaseRestore" }, of, { claim: claims });
  expect(verbs(await release(bare, absent))).toEqual([
    ...Array(3).fill("get persistentvolumeclaims"),
    "patch etcdrestores",
  ]);
  await expect(release(bare, present(claim))).rejects.toMatchObject({ code: "KubeConflict" });
  await expect(release(bare, unknown("no"))).rejects.toMatchObject({ code: "KubeUnavailable" });
  // Claims in the cache belong to a cluster or are being deleted; a foreign claim does not count.
  const seen = { ...bare, members: bare.members.map((member) => ({ ...member, claim })) };
  expect(verbs(await release(seen, present(claim)))).toContain("patch etcdrestores");
  expect(verbs(await release(bare, present(foreignClaim("restored-0"))))).toContain("patch etcdrestores");
});
