import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { CLIENT_PORT, ETCD_CONTAINER, memberLabels, QUARANTINE_LABEL } from "#api/names.ts";
import { DEFAULT_TLS } from "#api/tls.ts";
import type { ClusterIdentity, EtcdCluster, EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { OperatorError } from "#base/error.ts";
import { noIdentities } from "#certificates/dial.ts";
import { issuer } from "#certificates/issue.ts";
import { networkPolicy } from "#cluster/exposure/desired/network-policy.ts";
import { adoptedIdentity, newIdentity } from "#cluster/identity/desired/identity.ts";
import { newPeer } from "#cluster/members/desired/peer.ts";
import { firstBackup } from "#cluster/update/desired/first-backup.ts";
import { REFUSAL_TEXTS } from "#etcd/error.ts";
import { answering, listing } from "#kit/pods/live-members.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { born, claim, claimIdentity, cluster, open } from "#kit/snapshots/cluster.ts";
import { downgrading, NEWER, NEXT_MINOR, wanting, withCanary, withUpdate } from "#kit/snapshots/cluster-rolling.ts";
import { asleep, SLEEP, tired, wanted } from "#kit/snapshots/cluster-sleep.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import type { Draft, KubeObject, NetworkPolicy, PersistentVolumeClaim, Resource } from "#kube/kinds.ts";
import { dialAddress } from "#kube/pod.ts";
import { actOnCluster, type ClusterWrites } from "./act.ts";
import type { ClusterSnapshot } from "./snapshot.ts";
import type { ClusterStep } from "./step.ts";

// Before some of its writes the controller reads from the API server whether the cache is current.

/** Runs the step against an API server with these objects. @returns the verbs of its writes */
async function writesOf(step: ClusterStep, snapshot: ClusterSnapshot, live: readonly KubeObject[]): Promise<string[]> {
  const written: string[] = [];
  const write = (verb: string) => (_: Resource<KubeObject>, draft: KubeObject) => {
    written.push(verb);
    return Promise.resolve(draft);
  };
  const kube = {
    get: ({ kind }: Resource<KubeObject>, { name }: { name: string }) =>
      Promise.resolve(live.find((each) => each.kind === kind && each.metadata.name === name)),
    list: listing(snapshot),
    create: write("create"),
    replace: write("replace"),
  } as unknown as ClusterWrites["kube"];
  const etcd = {} as ClusterWrites["etcd"];
  await actOnCluster({ kube, etcd, identities: noIdentities, issuer }, step, snapshot, new AbortController().signal);
  return written;
}

describe("an EtcdPeer that may bootstrap", () => {
  const forming = cluster({ stage: "starting" });
  const identity = forming.cluster.status!.identity!;
  const step: ClusterStep = { do: "createPeer", peer: newPeer(forming, identity, "my-etcd-0") };

  test("is recreated when the member never joined according to the API server", async () => {
    expect(await writesOf(step, forming, [forming.cluster])).toEqual(["create"]);
  });

  /** The cluster's Service and its first Ready condition are this many seconds old. */
  function begun(serviceSeconds: number, wordSeconds: number): ClusterSnapshot {
    const ago = (seconds: number) => new Date(forming.takenAtMs - seconds * 1000).toISOString();
    const ready = { type: "Ready", status: "False", reason: "Forming", message: "", observedGeneration: 1 } as const;
    const available = { ...ready, type: "Available", lastTransitionTime: ago(0) };
    const conditions = [available, { ...ready, lastTransitionTime: ago(wordSeconds) }];
    const service = forming.headlessService!;
    const headlessService = { ...service, metadata: { ...service.metadata, creationTimestamp: ago(serviceSeconds) } };
    return {
      ...forming,
      claims: [],
      headlessService,
      cluster: { ...forming.cluster, status: { ...forming.cluster.status, conditions } },
    };
  }

  // The API server has a different cluster, so every question ends in a conflict.
  const other = { ...forming.cluster, metadata: { ...forming.cluster.metadata, uid: "another" } };

  test("is created without a live check within 30 s after its Service, however old the EtcdCluster is", async () => {
    expect(await writesOf(step, begun(29, 29), [other])).toEqual(["create"]);
  });

  test.each([
    ["with a Service that is 30 s old", begun(30, 30)],
    ["with a rewritten Ready condition", begun(3_600, 0)],
    ["with a recreated Service", begun(0, 3_600)],
    ["with timestamps from a wrong clock", begun(-31, -31)],
    ["that has the member's claim", { ...begun(0, 0), claims: [claim("my-etcd-0")] }],
  ])("is created only after a live check in a cluster %s", async (_, given) => {
    await expect(writesOf(step, given, [other])).rejects.toMatchObject({ code: "KubeConflict" });
  });

  test("is not created when the member has joined according to the API server", async () => {
    const initialMembers = identity.initialMembers.map((member) => ({ ...member, joined: true }));
    const now = {
      ...forming.cluster,
      status: { ...forming.cluster.status, identity: { ...identity, initialMembers } },
    };
    await expect(writesOf(step, forming, [now])).rejects.toMatchObject({ code: "KubeConflict" });
  });

  test("is not created when the cluster has been recreated", async () => {
    await expect(writesOf(step, forming, [other])).rejects.toMatchObject({ code: "KubeConflict" });
  });
});

test("writeTls: patches only spec.tls, with the UID and resourceVersion that were read", async () => {
  const fresh = open(cluster({ stage: "new" }));
  const patches: unknown[] = [];
  const kube = {
    patch: (
      ...[{ kind }, ref, patch, { signal: _, ...options }]: [
        Resource<KubeObject>,
        object,
        object,
        object & { signal: unknown },
      ]
    ) => {
      patches.push({ kind, ref, patch, options });
      return Promise.resolve(fresh.cluster);
    },
  } as unknown as ClusterWrites["kube"];
  const writes = { kube, etcd: {} as ClusterWrites["etcd"], identities: noIdentities, issuer };
  const written = await actOnCluster(writes, { do: "writeTls", tls: DEFAULT_TLS }, fresh, new AbortController().signal);
  expect(written).toMatchObject({ kind: "stored", object: { kind: "EtcdCluster" } });
  expect(patches).toEqual([
    {
      kind: "EtcdCluster",
      ref: { namespace: "foo", name: "my-etcd" },
      patch: { spec: { tls: DEFAULT_TLS } },
      options: { type: "merge", preconditions: { uid: "uid-of-cluster", resourceVersion: "100" } },
    },
  ]);
});

describe("a backup before an upgrade", () => {
  const upgrade = wanting(NEXT_MINOR);
  const step: ClusterStep = { do: "createBackup", backup: firstBackup(upgrade, etcdBackupSchedule()) };

  test("is created when the EtcdCluster is as in the cache", async () => {
    expect(await writesOf(step, upgrade, [upgrade.cluster])).toEqual(["create"]);
  });

  test.each([
    ["recreated", { uid: "another" }],
    ["edited", { generation: 9 }],
    ["marked for deletion", { deletionTimestamp: "2026-01-01T12:00:00Z" }],
  ])("is not created when the cluster has been %s", async (_, metadata) => {
    const now = { ...upgrade.cluster, metadata: { ...upgrade.cluster.metadata, ...metadata } };
    await expect(writesOf(step, upgrade, [now])).rejects.toMatchObject({ code: "KubeConflict" });
    await expect(writesOf(step, upgrade, [])).rejects.toMatchObject({ code: "KubeConflict" });
  });
});

test("recordIdentity: members in the first status have no message, however old the EtcdCluster is", async () => {
  const fresh = cluster({ stage: "new" });
  const creationTimestamp = new Date(fresh.takenAtMs - 3_600_000).toISOString();
  const waited = {
    ...fresh,
    cluster: { ...fresh.cluster, metadata: { ...fresh.cluster.metadata, creationTimestamp } },
  };
  const statuses: EtcdClusterStatus[] = [];
  const kube = {
    list: () => Promise.resolve({ items: [], resourceVersion: "1" }),
    replace: (_: Resource<KubeObject>, draft: EtcdCluster) => {
      statuses.push(draft.status!);
      return Promise.resolve(draft);
    },
  } as unknown as ClusterWrites["kube"];
  const writes = { kube, etcd: {} as ClusterWrites["etcd"], identities: noIdentities, issuer };
  const step: ClusterStep = { do: "recordIdentity", identity: newIdentity(waited) };
  await actOnCluster(writes, step, waited, new AbortController().signal);
  expect(statuses.flatMap(({ members = [] }) => members.map(({ message }) => message))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

describe("recordIdentity: the API server must have the same claims as the cache", () => {
  const founders = newIdentity(cluster({ stage: "new" }));
  const keep = (bound: readonly string[]) =>
    founders.initialMembers.map(({ name, id }) => {
      const made = claim(name, claimIdentity(founders.clusterID, id), { bound: bound.includes(name) });
      return { ...made, metadata: { ...made.metadata, labels: memberLabels("my-etcd", name) } };
    });
  const kept = keep(["my-etcd-0", "my-etcd-1"]);
  const fresh = cluster({ stage: "new" });
  const returning = cluster({ stage: "new", with: { claims: kept } });
  const adopted = adoptedIdentity(returning) as ClusterIdentity;
  const [first, , third] = kept;

  /** Records the identity. @param live claims of the API server @returns the requests */
  async function recorded(
    snapshot: ClusterSnapshot,
    identity: ClusterIdentity,
    live: readonly PersistentVolumeClaim[],
  ) {
    const calls: string[] = [];
    const kube = {
      list: ({ plural }: Resource<KubeObject>, query: { namespace?: string; labelSelector?: string }) => {
        calls.push(`list ${plural} ${query.namespace} ${query.labelSelector}`);
        return Promise.resolve({ items: live, resourceVersion: "1" });
      },
      replace: (_: Resource<KubeObject>, draft: KubeObject) => {
        calls.push("replace");
        return Promise.resolve(draft);
      },
    } as unknown as ClusterWrites["kube"];
    const writes = { kube, etcd: {} as ClusterWrites["etcd"], identities: noIdentities, issuer };
    await actOnCluster(writes, { do: "recordIdentity", identity }, snapshot, new AbortController().signal);
    return calls;
  }

  test("all claims are read in one request, and quarantined claims are ignored", async () => {
    expect(adopted.initialMembers.map(({ joined }) => joined)).toEqual([true, true, false]);
    const labels = "app.kubernetes.io/managed-by=etcd-cluster-operator,etcd.improbable.io/cluster-name=my-etcd";
    const asked = `list persistentvolumeclaims foo ${labels}`;
    expect(await recorded(returning, adopted, kept)).toEqual([asked, "replace"]);
    expect(await recorded(fresh, founders, [])).toEqual([asked, "replace"]);
    // Quarantined claims are ignored, whether or not a cache has them.
    const quarantined = { ...first!, metadata: { ...first!.metadata, labels: { [QUARANTINE_LABEL]: "why" } } };
    expect(await recorded(fresh, founders, [quarantined])).toEqual([asked, "replace"]);
  });

  const changed = (change: object, spec: object = {}) => ({
    ...first!,
    metadata: { ...first!.metadata, ...change },
    spec: { ...first!.spec, ...spec },
  });
  test.each<[string, readonly PersistentVolumeClaim[]]>([
    ["is gone", kept.slice(1)],
    ["was recreated", [changed({ uid: "another" }), ...kept.slice(1)]],
    ["is being deleted", [changed({ deletionTimestamp: "2026-01-01T12:00:00Z" }), ...kept.slice(1)]],
    ["has the data of another cluster", [changed({ annotations: claimIdentity("b0b", "1") }), ...kept.slice(1)]],
    ["was quarantined", [changed({ labels: { [QUARANTINE_LABEL]: "why" } }), ...kept.slice(1)]],
  ])("no member is adopted when its claim %s, and the cache does not show it yet", async (_, live) => {
    const known = { plural: "persistentvolumeclaims", name: "my-etcd-0" };
    await expect(recorded(returning, adopted, live)).rejects.toMatchObject({ code: "KubeConflict", known });
  });

  test("no member is recorded as not joined when its claim has a volume that the cache does not show yet", async () => {
    const bound = { ...third!, spec: { volumeName: "volume-1" } };
    const known = { plural: "persistentvolumeclaims", name: "my-etcd-2" };
    await expect(recorded(returning, adopted, [...kept.slice(0, 2), bound])).rejects.toMatchObject({ known });
  });

  test("no identity is recorded while a claim exists that the cache does not show yet", async () => {
    const conflict = { code: "KubeConflict", message: "claim my-etcd-2 exists; the cache does not show it yet" };
    await expect(recorded(fresh, founders, [third!])).rejects.toMatchObject(conflict);
    const halved = cluster({ stage: "new", with: { claims: kept.slice(0, 2) } });
    const half = adoptedIdentity(halved) as ClusterIdentity;
    await expect(recorded(halved, half, kept)).rejects.toMatchObject(conflict);
  });
});

/** Finds the cluster and the claims of the snapshot. */
function liveOf({ cluster: own, claims }: ClusterSnapshot) {
  return (_: Resource<KubeObject>, { name }: { name: string }) =>
    Promise.resolve([own, ...claims].find(({ metadata }) => metadata.name === name));
}

/** Runs the step. @returns what it deleted, and its result for the controller */
async function deletedBy(step: ClusterStep, now = cluster()) {
  const deleted: unknown[] = [];
  const kube = {
    get: liveOf(cluster()),
    list: listing(cluster()),
    delete: ({ kind }: Resource<KubeObject>, ref: object, { preconditions }: { preconditions?: object }) => {
      deleted.push({ kind, ref, preconditions });
      return Promise.resolve();
    },
  } as unknown as ClusterWrites["kube"];
  const written = await actOnCluster(
    { kube, etcd: answering(now), identities: noIdentities, issuer },
    step,
    cluster(),
    new AbortController().signal,
  );
  return { deleted, written };
}

test("deleteBudget: deletes the PodDisruptionBudget with its UID and resourceVersion as preconditions", async () => {
  const live = cluster().budget!;
  const { deleted, written } = await deletedBy({ do: "deleteBudget", live });
  const { namespace, name, uid, resourceVersion } = live.metadata;
  const [kind, ref] = ["PodDisruptionBudget", { namespace, name }];
  expect(deleted).toEqual([{ kind, ref, preconditions: { uid, resourceVersion } }]);
  expect(written).toMatchObject({ kind: "deleted", resource: { kind }, ref, uid });
});

test("deleteNetworkPolicy: deletes the NetworkPolicy with its UID and resourceVersion as preconditions", async () => {
  const live: NetworkPolicy = born(networkPolicy(cluster()));
  const { deleted, written } = await deletedBy({ do: "deleteNetworkPolicy", live });
  const { namespace, name, uid, resourceVersion } = live.metadata;
  const [kind, ref] = ["NetworkPolicy", { namespace, name }];
  expect(deleted).toEqual([{ kind, ref, preconditions: { uid, resourceVersion } }]);
  expect(written).toMatchObject({ kind: "deleted", resource: { kind }, ref, uid });
});

describe("a restart", () => {
  const settled = cluster();
  const pod = settled.pods.get("my-etcd-2")!;
  const step: ClusterStep = { do: "restartPod", name: "my-etcd-2", pod };

  test("deletes the pod with its UID and resourceVersion as preconditions", async () => {
    const ref = { namespace: "foo", name: "my-etcd-2-abcde" };
    const { deleted, written } = await deletedBy(step);
    expect(deleted).toEqual([
      { kind: "Pod", ref, preconditions: { uid: "uid-of-pod-my-etcd-2", resourceVersion: "300" } },
    ]);
    expect(written).toMatchObject({ kind: "deleted", resource: { kind: "Pod" }, ref, uid: "uid-of-pod-my-etcd-2" });
  });
});

test("a restart is deferred when the other members no longer answer", async () => {
  const step: ClusterStep = { do: "restartPod", name: "my-etcd-2", pod: cluster().pods.get("my-etcd-2")! };
  const now = { ...cluster(), endpoints: new Map() };
  await expect(deletedBy(step, now)).rejects.toMatchObject({ code: "KubeConflict" });
});

describe("stopUpdate", () => {
  const tried = begin(wanting(NEWER)).apply(withCanary, "my-etcd-2").apply(withUpdate).snapshot;
  const step: ClusterStep = { do: "stopUpdate", name: "my-etcd-2", message: "it ended" };

  test("records the stopped update in the status and changes nothing else", async () => {
    const written: KubeObject[] = [];
    const options: object[] = [];
    const replace = (_: Resource<KubeObject>, object: KubeObject, how: object) => {
      written.push(object);
      options.push(how);
      return Promise.resolve(object);
    };
    const kube = { replace, list: listing(tried) } as unknown as ClusterWrites["kube"];
    await actOnCluster(
      { kube, etcd: {} as ClusterWrites["etcd"], identities: noIdentities, issuer },
      step,
      tried,
      new AbortController().signal,
    );
    const { status } = tried.cluster;
    expect(options).toMatchObject([{ subresource: "status" }]);
    expect(written).toEqual([
      {
        ...tried.cluster,
        status: {
          ...status,
          update: {
            ...status?.update,
            updated: [],
            waitingFor: "my-etcd-2",
            stopped: { member: "my-etcd-2", message: "it ended" },
          },
        },
      },
    ]);
  });

  test("records nothing when the canary has another pod than in the cache", async () => {
    const list = () => Promise.resolve({ items: [] });
    const parts = { kube: { list }, etcd: {}, identities: noIdentities, issuer } as unknown as ClusterWrites;
    const acting = actOnCluster(parts, step, tried, new AbortController().signal);
    await expect(acting).rejects.toMatchObject({ code: "KubeConflict", known: { plural: "pods" } });
  });

  test("throws when no update is in progress", async () => {
    await expect(writesOf(step, cluster(), [])).rejects.toThrow("under way");
  });
});

describe("a downgrade", () => {
  /** Runs the step against an etcd that refuses this action. @returns the calls in order, and the result */
  async function askedBy(step: ClusterStep, snapshot: ClusterSnapshot, refuses?: string) {
    const asked: string[] = [];
    const downgrade = ({ address }: { address: string }, action: string, to: string, options: object) => {
      asked.push(`${action} ${to} at ${address}`);
      expect(options).toMatchObject({ expectedClusterId: expect.anything() });
      if (action !== refuses) return Promise.resolve();
      const cause = new ConnectError(REFUSAL_TEXTS.InvalidDowngradeTargetVersion, Code.InvalidArgument);
      return Promise.reject(new OperatorError("EtcdRejected", `Downgrade: ${cause.rawMessage}`, { cause }));
    };
    const etcd = { downgrade } as unknown as ClusterWrites["etcd"];
    const parts = { kube: {} as ClusterWrites["kube"], etcd, identities: noIdentities, issuer };
    const ended = await actOnCluster(parts, step, snapshot, new AbortController().signal).catch(
      (thrown: unknown) => thrown,
    );
    return { asked, ended };
  }
  const at = (name: string) => dialAddress(cluster().pods.get(name)!, ETCD_CONTAINER, CLIENT_PORT);
  const enable: ClusterStep = { do: "enableDowngrade", to: "3.5" };
  const cancel: ClusterStep = { do: "cancelDowngrade", to: "3.5" };

  test("is validated first, and then enabled", async () => {
    const { asked, ended } = await askedBy(enable, cluster());
    expect(asked).toEqual([`VALIDATE 3.5 at ${at("my-etcd-0")}`, `ENABLE 3.5 at ${at("my-etcd-0")}`]);
    expect(ended).toEqual({ kind: "external" });
  });

  test("that etcd calls invalid is not enabled, and etcd's reason is reported", async () => {
    const { asked, ended } = await askedBy(enable, cluster(), "VALIDATE");
    expect(asked).toHaveLength(1);
    expect(ended).toMatchObject({ code: "EtcdNotNow", message: expect.stringContaining("invalid downgrade target") });
  });

  test("is cancelled at the member that has it enabled", async () => {
    const { asked } = await askedBy(cancel, downgrading(cluster(), ["my-etcd-1"]));
    expect(asked).toEqual([`CANCEL 3.5 at ${at("my-etcd-1")}`]);
  });

  test("that no member has enabled is not cancelled", async () => {
    const { asked, ended } = await askedBy(cancel, cluster());
    expect(asked).toEqual([]);
    expect(ended).toMatchObject({ code: "EtcdNotNow" });
  });
});

describe("status.sleep", () => {
  test("is written by the steps fallAsleep and wakeUp", async () => {
    expect(await recorded({ do: "fallAsleep" }, tired())).toEqual({ startTime: "2026-01-01T12:00:00Z" });
    const given = wanted(asleep(), 3);
    expect(await recorded({ do: "wakeUp" }, given)).toEqual({ ...SLEEP, wakeTime: "2026-01-01T12:00:00Z" });
    await expect(recorded({ do: "wakeUp" }, cluster())).rejects.toThrow("only a cluster that sleeps is woken");
  });

  async function recorded(step: ClusterStep, given: ClusterSnapshot) {
    const replace = (_: unknown, draft: Draft<EtcdCluster>) => Promise.resolve(draft);
    const writes = { kube: { get: liveOf(given), replace }, etcd: {} } as unknown as ClusterWrites;
    const made = await actOnCluster(writes, step, given, new AbortController().signal);
    return made.kind === "stored" ? (made.object as EtcdCluster).status?.sleep : undefined;
  }
});
