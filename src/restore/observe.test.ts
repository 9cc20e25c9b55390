import { describe, expect, test } from "vitest";
import { QUARANTINE_LABEL } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { destinationClaim, IMAGE } from "#kit/snapshots/etcd-backup.ts";
import {
  clusterOf,
  failed,
  foreignClaim,
  ON_VOLUME,
  restore,
  sourceBackup,
  UID,
  withMember,
} from "#kit/snapshots/etcd-restore.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeObject, PersistentVolumeClaim, Pod, Ref } from "#kube/kinds.ts";
import { restoreController, restoreKeysFor } from "#restore/controller.ts";
import { observeRestore, type RestoreReads } from "#restore/observe.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import { verdictOf } from "#restore/verdict.ts";

const KEY = { namespace: "foo", name: "back" };
const signal = new AbortController().signal;

interface World {
  readonly snapshot?: RestoreSnapshot;
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly members?: readonly Pod[];
  readonly nowMs?: number;
  readonly find?: () => Promise<Observed<unknown>>;
  /** Objects on the API server that differ from the cache; undefined: the same. */
  readonly live?: (kind: string, name: string) => Observed<unknown> | undefined;
  readonly list?: () => Promise<{ items: readonly KubeObject[] }>;
  readonly revision?: (address: string) => Promise<bigint>;
}

async function look(world: World = {}) {
  const { restore: its, members, cluster, backup } = world.snapshot ?? restore();
  const asked: string[] = [];
  const warned: string[] = [];
  const own = members.flatMap(({ claim }) => claim ?? []);
  const claims = [...own, ...(world.claims ?? [])];
  const view = (
    objects: readonly (KubeObject | undefined)[],
    indexed: Readonly<Record<string, readonly KubeObject[]>> = {},
  ) => ({
    get: ({ name }: Ref) => objects.find((each) => each?.metadata.name === name),
    byIndex: (index: string, value: string) => indexed[`${index} ${value}`] ?? [],
  });
  const jobs = members.flatMap(({ filling }) => filling?.job ?? []);
  const pods = members.flatMap(({ filling }) => filling?.pods ?? []);
  const reads = {
    restores: view([its]),
    backups: view([backup]),
    clusters: view([cluster]),
    claims: view(claims, {
      "target foo/restored": claims.filter(({ metadata }) => metadata.name.startsWith("restored-")),
    }),
    jobs: view(jobs),
    pods: view(pods, { "restore foo/back": pods, "target foo/restored": world.members ?? [] }),
    kube: {
      find: ({ kind }: { kind: string }, { name }: Ref) => {
        const live = world.live?.(kind, name);
        if (live !== undefined) return Promise.resolve(live);
        if (kind === "EtcdCluster" || kind === "EtcdBackup") {
          const there = kind === "EtcdCluster" ? cluster : backup;
          return Promise.resolve(there === undefined ? absent : present(there));
        }
        asked.push(`claim ${name}`);
        return (world.find ?? (() => Promise.resolve(absent)))();
      },
      list: ({ plural }: { plural: string }, { labelSelector }: { labelSelector: string }) => {
        asked.push(`${plural} ${labelSelector}`);
        return (world.list ?? (() => Promise.resolve({ items: [] })))();
      },
    },
    etcd: {
      revision: ({ address }: { address: string }, { expectedClusterId }: { expectedClusterId: bigint }) => {
        asked.push(`revision ${address} ${typeof expectedClusterId}`);
        return (world.revision ?? (() => Promise.resolve(5n)))(address);
      },
    },
    clock: { wallMs: () => world.nowMs ?? NOW },
    agentImage: IMAGE,
    imageRepository: "registry.example/etcd",
  } as unknown as RestoreReads;
  const warnings = {
    of: ({ metadata }: KubeObject) => {
      warned.push(metadata.name);
      return Promise.resolve(["careful"]);
    },
  };
  const seen = await observeRestore(reads, warnings, KEY, signal);
  return { seen: seen.is === "present" ? seen.value : seen, asked, warned, reads };
}

async function seenIn(world: World = {}): Promise<RestoreSnapshot> {
  const { seen } = await look(world);
  if ("is" in seen) throw new Error("nothing was seen");
  return seen;
}

const TARGET = { podIP: "10.0.0.1", phase: "Running", conditions: [{ type: "Ready", status: "True" }] };

function memberPod(podIP: string, isReady = true): Pod {
  const status = { ...TARGET, podIP, conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] };
  return { apiVersion: "v1", kind: "Pod", metadata: { namespace: "foo", name: podIP }, status } as unknown as Pod;
}

test("a restore is observed with its members, and its Jobs and pods are matched by controller uid", async () => {
  const given = restore();
  const seen = await seenIn({ snapshot: given });
  expect(seen).toEqual(given);
  const stray = {
    ...given,
    members: given.members.map((each) => ({
      ...each,
      filling: {
        ...each.filling!,
        job: { ...each.filling!.job, metadata: { ...each.filling!.job.metadata, uid: "other" } },
      },
    })),
  };
  expect((await seenIn({ snapshot: stray })).members.map(({ filling }) => filling?.pods)).toEqual([[], [], []]);
});

test("a restore that does not exist is observed as absent", async () => {
  const { reads } = await look();
  expect(
    await observeRestore(reads, { of: () => Promise.resolve([]) }, { namespace: "foo", name: "none" }, signal),
  ).toEqual(absent);
});

test("other claims of the cluster are sorted, without members' and quarantined claims", async () => {
  const aside = foreignClaim("restored-7");
  const claims = [
    foreignClaim("restored-9"),
    foreignClaim("restored-4"),
    { ...aside, metadata: { ...aside.metadata, labels: { [QUARANTINE_LABEL]: "true" } } },
  ];
  const live = (_: string, name: string) => {
    const claim = claims.find(({ metadata }) => metadata.name === name);
    return claim && present(claim);
  };
  const { otherClaims } = await seenIn({ claims, live });
  expect(otherClaims.map(({ metadata }) => metadata.name)).toEqual(["restored-4", "restored-9"]);
});

test("the API server is not asked for an ended restore", async () => {
  const { asked, warned } = await look({
    snapshot: restore({ stage: "ready", status: { phase: "Completed" } }),
    members: [memberPod("10.0.0.1")],
  });
  expect([asked, warned]).toEqual([[], []]);
});

test("the source's claim is read from the API server until a Job exists", async () => {
  const there = destinationClaim();
  const first = await look({
    snapshot: restore({ stage: "claims", spec: ON_VOLUME }),
    find: () => Promise.resolve(present(there)),
  });
  expect(first.asked).toEqual(["claim backups"]);
  expect(first.seen).toMatchObject({ sourceClaim: there });
  const later = await look({ snapshot: restore({ spec: ON_VOLUME }), claims: [there] });
  expect(later.asked).toEqual([]);
  expect(later.seen).toMatchObject({ sourceClaim: there });
  expect((await look({ snapshot: restore({ spec: ON_VOLUME }) })).seen).toMatchObject({ sourceClaim: undefined });
  const dark = await look({
    snapshot: restore({ stage: "claims", spec: ON_VOLUME }),
    find: () => Promise.resolve(unknown("no")),
  });
  expect(dark.seen).toEqual(unknown("no"));
});

test("claims without identity are read from the API server when a cluster may have used them", async () => {
  const behind = restore({ stage: "filled", with: { cluster: clusterOf(restore(), true) } });
  const identified = restore({ stage: "told" }).members.map(({ claim }) => claim);
  const asked = ["claim restored-0", "claim restored-1", "claim restored-2"];
  let n = 0;
  const caughtUp = await look({ snapshot: behind, find: () => Promise.resolve(present(identified[n++])) });
  expect(caughtUp.asked).toEqual(asked);
  expect(caughtUp.seen).toMatchObject({ members: identified.map((claim) => ({ claim })) });
  const gone = await look({ snapshot: behind });
  expect(gone.seen).toMatchObject({ members: asked.map(() => ({ claim: undefined })) });
  const dark = await look({ snapshot: behind, find: () => Promise.resolve(unknown("no")) });
  expect(dark.seen).toEqual(unknown("no"));
  // The status records that they were identified; the cache may be older.
  const recorded = restore({ stage: "filled", status: { begun: true } });
  // A claim that would fail the restore is read again, with everything else that would.
  expect((await look({ snapshot: recorded })).asked).toEqual([...asked, ...asked]);
  // A cluster created from the claims counts as well; another cluster does not.
  expect((await look({ snapshot: { ...behind, cluster: clusterOf(behind) } })).asked).toEqual([...asked, ...asked]);
  const other = { ...clusterOf(behind), metadata: { ...clusterOf(behind).metadata, annotations: {} } };
  expect((await look({ snapshot: { ...behind, cluster: other } })).asked).toEqual(asked);
});

describe("before a restore fails for good, the operator asks the API server", () => {
  const identified = restore({ stage: "told" });
  const cluster = {
    ...clusterOf(identified, true),
    metadata: { ...clusterOf(identified).metadata, annotations: {} },
    status: {},
  };
  const fresh = restore({ stage: "new", with: { cluster } });
  const gone = (kind: string, name: string) => ({ live: (...of: [string, string]) => (of.join() === `${kind},${name}` ? absent : undefined) }); // biome-ignore format: one line

  test("whether the cluster with the restored cluster's name exists", async () => {
    expect(verdictOf(await seenIn({ snapshot: fresh }))).toMatchObject({ phase: "Failed", reason: "ClusterExists" });
    expect(verdictOf(await seenIn({ snapshot: fresh, ...gone("EtcdCluster", "restored") })).phase).toBe("Pending");
  });

  test("whether claims of members and of later ordinals exist", async () => {
    const claims = [foreignClaim("restored-0"), foreignClaim("restored-7")];
    const snapshot = withMember(restore({ stage: "new" }), 0, { claim: claims[0] });
    const there = (...names: readonly string[]) => ({
      live: (kind: string, name: string) => {
        if (kind !== "PersistentVolumeClaim") return undefined;
        const claim = claims.find(({ metadata }) => metadata.name === name);
        return claim !== undefined && names.includes(name) ? present(claim) : absent;
      },
    });
    const seen = async (...names: readonly string[]) =>
      verdictOf(await seenIn({ snapshot, claims: claims.slice(1), ...there(...names) }));
    for (const name of ["restored-0", "restored-7"])
      expect(await seen(name)).toMatchObject({ phase: "Failed", reason: "ClaimExists", message: expect.stringContaining(name) }); // biome-ignore format: one line
    expect((await seen()).phase).toBe("Pending");
  });

  test("whether a missing claim is lost", async () => {
    const lost = withMember(identified, 1, { claim: undefined });
    const live = (_: string, name: string) => {
      const claim = identified.members.find((member) => member.name === name)?.claim;
      return claim === undefined ? undefined : present(claim);
    };
    expect(verdictOf(await seenIn({ snapshot: lost, live })).phase).toBe("Pending");
    const others = (...of: [string, string]) => (of[1] === "restored-1" ? absent : live(...of));
    expect(verdictOf(await seenIn({ snapshot: lost, live: others }))).toMatchObject({ reason: "ClaimLost" });
  });

  test("whether the EtcdBackup has failed", async () => {
    const snapshot = restore({ stage: "new", with: { backup: sourceBackup({ phase: "Failed" }) } });
    expect(verdictOf(await seenIn({ snapshot })).reason).toBe("BackupFailed");
    const live = (kind: string) => (kind === "EtcdBackup" ? present(sourceBackup()) : undefined);
    expect(verdictOf(await seenIn({ snapshot, live })).phase).toBe("Pending");
  });

  test("and keeps the restore pending when the API server does not answer", async () => {
    const { seen } = await look({ snapshot: fresh, live: (kind) => (kind === "EtcdCluster" ? unknown("no") : undefined) }); // biome-ignore format: one line
    expect(seen).toEqual(unknown("no"));
  });
});

test("pods are read from the API server after a Job failed or its report is a minute overdue", async () => {
  const overdueMs = Date.parse("2026-01-01T12:01:00Z");
  const filled = restore({ stage: "filled" });
  const { job, pods } = filled.members[1]!.filling!;
  const unseen = withMember(filled, 1, { filling: { job, pods: [] } });
  const question = `pods batch.kubernetes.io/controller-uid=${job.metadata.uid}`;
  const list = () => Promise.resolve({ items: pods });
  const { asked, seen } = await look({ snapshot: unseen, nowMs: overdueMs, list });
  expect(asked).toEqual([question]);
  expect(seen).toMatchObject({ members: [{}, { filling: { pods } }, {}] });
  expect((await look({ snapshot: unseen, nowMs: NOW, list })).asked).toEqual([]);
  const dark = () => Promise.reject(new OperatorError("KubeUnavailable", "no"));
  expect((await look({ snapshot: unseen, nowMs: overdueMs, list: dark })).seen).toEqual(unknown("no"));
  const over = withMember(restore(), 1, { filling: failed(job) });
  expect((await look({ snapshot: over, list: () => Promise.resolve({ items: failed(job).pods }) })).asked).toContain(
    question,
  );
  const identified = restore({ stage: "told" });
  const later = withMember(identified, 1, { filling: { job, pods: [] } });
  expect((await look({ snapshot: later, nowMs: overdueMs })).asked).toEqual([]);
});

test("Kubernetes' warnings are read when no container has run for five seconds", async () => {
  const starting = restore({ stage: "starting" });
  const made = Date.parse("2026-01-01T11:59:50Z");
  expect((await look({ snapshot: starting, nowMs: made + 4_999 })).warned).toEqual([]);
  expect((await look({ snapshot: starting, nowMs: made + 5_000 })).warned).toEqual([`restore-${UID}-0-abcde`]);
  expect((await look({ snapshot: restore({ stage: "made" }), nowMs: made + 5_000 })).warned).toEqual([
    `restore-${UID}-0`,
  ]);
  expect((await look({ snapshot: restore({ stage: "filled" }), nowMs: made + 5_000 })).warned).toEqual([]);
});

test("a Ready cluster's revision is read from a member with a ready pod and the expected cluster ID", async () => {
  const ready = restore({ stage: "ready" });
  const members = [memberPod("10.0.0.1", false), memberPod("10.0.0.2"), memberPod("10.0.0.3"), memberPod("10.0.0.4")];
  const read = await look({ snapshot: ready, members });
  expect(read.asked).toEqual(["revision 10.0.0.2:2379 bigint"]);
  expect(read.seen).toMatchObject({ read: present(5n) });
  const down = () => Promise.reject(new OperatorError("EtcdUnavailable", "down"));
  const silent = await look({ snapshot: ready, members, revision: down });
  expect(silent.asked).toHaveLength(2);
  expect(silent.seen).toMatchObject({ read: unknown("down") });
  expect((await look({ snapshot: ready })).seen).toMatchObject({ read: unknown("no member has a ready pod") });
  expect((await look({ snapshot: restore({ stage: "forming" }), members })).asked).toEqual([]);
  const cancelled = () => Promise.reject(new OperatorError("Cancelled", "stop"));
  await expect(look({ snapshot: ready, members, revision: cancelled })).rejects.toThrow("stop");
});

test("Jobs and pods of a restore trigger its reconciliation", () => {
  const [member] = restore().members;
  const { job, pods } = member!.filling!;
  const bare = { ...job, metadata: { ...job.metadata, labels: {} } };
  const others = { ...bare, metadata: { ...bare.metadata, ownerReferences: [] } };
  expect([job, pods[0]!, bare].map((each) => restoreKeysFor(each))).toEqual([[KEY], [KEY], [KEY]]);
  expect(restoreKeysFor(others)).toEqual([]);
});

test("the status is written only when it differs, and an observation's error is written to it", async () => {
  const written: unknown[] = [];
  const kube = {
    replace: (_: unknown, object: { status: unknown }) => {
      written.push(object.status);
      return Promise.resolve(object);
    },
  };
  const { reads } = await look();
  const controller = restoreController(kube as never, { ...reads, clock: new FakeClock() } as never);
  const snapshot = restore({ status: { phase: "Pending" } });
  expect(await controller.writeStatus(snapshot, { phase: "Pending" }, signal)).toBeUndefined();
  expect(await controller.writeStatus(snapshot, { phase: "Failed" }, signal)).toMatchObject({ kind: "stored" });
  expect(controller.subject(snapshot)).toEqual({
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdRestore",
    namespace: "foo",
    name: "back",
    uid: UID,
  });
  expect(controller.subjectOf(KEY)).toMatchObject({ name: "back" });
  expect(controller.subjectOf({ namespace: "foo", name: "none" })).toBeUndefined();
  expect(await controller.writeFailing({ namespace: "foo", name: "none" }, "x", signal)).toBeUndefined();
  await controller.writeFailing(KEY, "a defect", signal);
  expect(written).toMatchObject([
    { phase: "Failed" },
    { conditions: [{ reason: "InternalError" }, { type: "Ready" }] },
  ]);
});
