import { describe, expect, test } from "vitest";
import { CLEANUP_FINALIZER, PAUSED_ANNOTATION, WAIVE_ANNOTATION } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { present } from "#base/observed.ts";
import { issuer } from "#certificates/issue.ts";
import { actOnCluster, type ClusterWrites } from "#cluster/act.ts";
import { knownMembers } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { answering, listing, shown } from "#kit/pods/live-members.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { secured } from "#kit/snapshots/cluster-tls.ts";
import type { KubeObject, Ref, Resource } from "#kube/kinds.ts";
import { needRemoval } from "./live-checks.ts";

// No watch reports changes of peer Secrets, so they are read again before a member is removed for them. Claims are read
// again before a pod is stopped: a stale cache must not decide over the last copy of data.

const certified = secured();
const peer = certified.peers.find(({ metadata }) => metadata.name === "my-etcd-2")!;
const GIVEN_UP: ClusterStep = { do: "markRemoval", peer, removal: "replacement" };
const RESTARTED: ClusterStep = { do: "restartPod", name: "my-etcd-2", pod: certified.pods.get("my-etcd-2")! };

const OWNER = "get EtcdCluster my-etcd";
const CLAIMS = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].map((name) => `get PersistentVolumeClaim ${name}`);

/**
 * Runs the step.
 *
 * @param secret the peer Secret in the API server; undefined: none
 * @param claim claim my-etcd-0 in the API server where it differs from the cache; `"gone"`: none
 * @returns the requests in order
 */
async function asked(
  step: ClusterStep,
  secret: object | undefined,
  snapshot = certified,
  claim: object | "gone" = {},
): Promise<readonly string[]> {
  const calls: string[] = [];
  const note = (verb: string) => (resource: Resource<KubeObject>, ref: Ref) => {
    calls.push(`${verb} ${resource.kind} ${ref.name}`);
    return Promise.resolve({ metadata: ref });
  };
  const get = async (resource: Resource<KubeObject>, ref: Ref) => {
    await note("get")(resource, ref);
    if (resource.kind === "EtcdCluster") return snapshot.cluster;
    if (resource.kind === "PersistentVolumeClaim") {
      const known = snapshot.claims.find(({ metadata }) => metadata.name === ref.name);
      if (ref.name !== "my-etcd-0") return known;
      if (claim === "gone") throw new OperatorError("KubeNotFound", "it is not there");
      return { metadata: { ...known?.metadata, ...claim } };
    }
    if (secret === undefined) throw new OperatorError("KubeNotFound", "it is not there");
    return { metadata: { uid: "uid-of-my-etcd-peer-tls", resourceVersion: "1", ...secret } };
  };
  const replace = ({ kind }: Resource<KubeObject>, object: KubeObject) => {
    calls.push(`replace ${kind}`);
    return Promise.resolve(object);
  };
  const list = listing(snapshot);
  const kube = { get, list, replace, patch: note("patch"), delete: note("delete") } as unknown as ClusterWrites["kube"];
  const writes = { kube, etcd: answering(snapshot), identities: shown, issuer };
  await actOnCluster(writes, step, snapshot, new AbortController().signal);
  return calls;
}

test("the peer Secret is read again before a replacement is recorded or a member restarted", async () => {
  expect(await asked(GIVEN_UP, {})).toEqual(["get Secret my-etcd-peer-tls", "patch EtcdPeer my-etcd-2"]);
  const secret = "get Secret my-etcd-peer-tls";
  expect(await asked(RESTARTED, {})).toEqual([OWNER, secret, ...CLAIMS, "delete Pod my-etcd-2-abcde"]);
});

test.each([
  { what: "has been written", shown: { resourceVersion: "2" } },
  { what: "has been recreated", shown: { uid: "another" } },
  { what: "is gone", shown: undefined },
])(
  "no replacement is recorded and no member restarted when the peer Secret $what since the observation",
  async ({ shown }) => {
    await expect(asked(GIVEN_UP, shown)).rejects.toMatchObject({ code: "KubeConflict" });
    await expect(asked(RESTARTED, shown)).rejects.toMatchObject({ code: "KubeConflict" });
  },
);

test("a scale-down or a cancelled removal is recorded without reading the peer Secret", async () => {
  expect(await asked({ ...GIVEN_UP, removal: "scale-down" }, undefined)).toEqual(["patch EtcdPeer my-etcd-2"]);
  expect(await asked({ ...GIVEN_UP, removal: undefined }, undefined)).toEqual(["patch EtcdPeer my-etcd-2"]);
});

test("a member without TLS is restarted without reading a peer Secret", async () => {
  const plain = cluster();
  const pod = plain.pods.get("my-etcd-2")!;
  const done = [OWNER, ...CLAIMS, "delete Pod my-etcd-2-abcde"];
  expect(await asked({ ...RESTARTED, pod }, undefined, plain)).toEqual(done);
});

describe("before a restart or a sleep, each voter's claim is read again", () => {
  const plain = cluster();
  const restarted = { ...RESTARTED, pod: plain.pods.get("my-etcd-2")! };
  const steps: readonly ClusterStep[] = [restarted, { do: "fallAsleep" }];

  test("and the step is taken when the claims are as in the cache", async () => {
    expect(await asked(restarted, undefined, plain)).toEqual([OWNER, ...CLAIMS, "delete Pod my-etcd-2-abcde"]);
    expect(await asked({ do: "fallAsleep" }, undefined, plain)).toEqual([...CLAIMS, "replace EtcdCluster"]);
  });

  test.each([
    { what: "is being deleted", claim: { deletionTimestamp: "2026-01-01T12:00:00Z" } },
    { what: "is gone", claim: "gone" as const },
    { what: "was recreated", claim: { uid: "another" } },
  ])("no pod is stopped when a claim $what and the cache does not show it yet", async ({ claim }) => {
    for (const step of steps)
      await expect(asked(step, undefined, plain, claim)).rejects.toMatchObject({
        code: "KubeConflict",
        message: "claim my-etcd-0 is gone, or being deleted; the cache does not show it yet",
      });
  });

  test("except claims known to be terminating and claims without a voter", async () => {
    const [first, ...others] = plain.claims;
    const dying = { ...first!, metadata: { ...first!.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
    const left = { ...first!, metadata: { ...first!.metadata, name: "my-etcd-7" } };
    const snapshot = { ...plain, claims: [dying, ...others, left] };
    const done = [OWNER, ...CLAIMS.slice(1), "delete Pod my-etcd-2-abcde"];
    expect(await asked(restarted, undefined, snapshot)).toEqual(done);
  });

  test("and a claim that the cache lacks blocks the step only when it is terminating with the member's ID", async () => {
    const [first, ...others] = plain.claims;
    const unseen = { ...plain, claims: others };
    const own = first!.metadata;
    const dying = { ...own, deletionTimestamp: "2026-01-01T12:00:00Z" };
    const done = [OWNER, ...CLAIMS, "delete Pod my-etcd-2-abcde"];
    for (const claim of ["gone" as const, own, { ...dying, annotations: {} }])
      expect(await asked(restarted, undefined, unseen, claim)).toEqual(done);
    for (const step of steps)
      await expect(asked(step, undefined, unseen, dying)).rejects.toMatchObject({ code: "KubeConflict" });
  });

  test("also of voters that have not started, but not of learners", async () => {
    if (plain.members.is !== "present") throw new Error("there is no member list");
    const [unstarted, started, learner] = plain.members.value.members;
    const members = [{ ...unstarted!, name: "", clientUrls: [] }, started!, { ...learner!, isLearner: true }];
    const given = { ...plain, members: present({ ...plain.members.value, members }) };
    const done = [OWNER, ...CLAIMS.slice(0, 2), "delete Pod my-etcd-2-abcde"];
    expect(await asked(restarted, undefined, given)).toEqual(done);
  });
});

describe("before a member is removed", () => {
  const plain = cluster();
  const [, , last] = knownMembers(plain);
  const member = { name: last!.name, id: memberIdFromHex(last!.id) };

  /**
   * @param live the cluster and claim my-etcd-0 in the API server where they differ from the caches
   * @returns the requests
   */
  async function checked(given: ClusterSnapshot, live: { cluster?: object; spec?: object; claim?: object } = {}) {
    const asked: string[] = [];
    const get = ({ kind }: Resource<KubeObject>, { name }: Ref) => {
      asked.push(`${kind} ${name}`);
      if (kind === "EtcdCluster") {
        const { metadata, spec, ...rest } = given.cluster;
        return Promise.resolve({
          ...rest,
          spec: { ...spec, ...live.spec },
          metadata: { ...metadata, ...live.cluster },
        });
      }
      const claim = given.claims.find(({ metadata }) => metadata.name === name)!;
      return Promise.resolve({
        ...claim,
        metadata: { ...claim.metadata, ...(name === "my-etcd-0" ? live.claim : {}) },
      });
    };
    await needRemoval({ get } as never, given, member, new AbortController().signal);
    return asked;
  }

  const claims = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].map((name) => `PersistentVolumeClaim ${name}`);

  const owner = "EtcdCluster my-etcd";

  test("the EtcdCluster and the claims of all voters are read", async () => {
    expect(await checked(plain)).toEqual([owner, ...claims]);
  });

  test.each([
    ["has been edited", { cluster: { generation: 99 } }],
    ["is being deleted", { cluster: { deletionTimestamp: "2026-01-01T12:00:00Z" } }],
    ["was recreated", { cluster: { uid: "another" } }],
    ["is paused", { spec: { paused: true } }],
  ])("the removal is deferred when the EtcdCluster %s", async (_, live) => {
    const known = { plural: "etcdclusters", resourceVersion: plain.cluster.metadata.resourceVersion };
    await expect(checked(plain, live)).rejects.toMatchObject({ code: "KubeConflict", known });
  });

  test("the removal of a voter is deferred when a claim is terminating that the cache shows as kept", async () => {
    const claim = { deletionTimestamp: "2026-01-01T12:00:00Z" };
    await expect(checked(plain, { claim })).rejects.toMatchObject({ code: "KubeConflict" });
  });

  test("no claim is read when the member is a learner", async () => {
    if (plain.members.is !== "present") throw new Error("there is no member list");
    const members = plain.members.value.members.map((each) => ({ ...each, isLearner: each.id === member.id }));
    expect(await checked({ ...plain, members: present({ ...plain.members.value, members }) })).toEqual([owner]);
  });

  test("no claim is read for a voter that was added by hand", async () => {
    if (plain.members.is !== "present") throw new Error("there is no member list");
    const theirs = { id: memberIdFromHex("ff"), name: "dc1/own%", peerUrls: ["http://own-1:2380"], clientUrls: ["http://own-1:2379"], isLearner: false }; // biome-ignore format: one line
    const members = [...plain.members.value.members, theirs];
    expect(await checked({ ...plain, members: present({ ...plain.members.value, members }) })).toEqual([
      owner,
      ...claims,
    ]);
  });
});

describe("no destructive step is taken when the live EtcdCluster is paused, edited or waived differently", () => {
  const plain = cluster();
  const going = plain.peers[2]!;
  const steps: readonly ClusterStep[] = [
    { do: "restartPod", name: "my-etcd-2", pod: plain.pods.get("my-etcd-2")! },
    { do: "releaseClaim", peer: going, finalizer: CLEANUP_FINALIZER },
    { do: "deletePeer", peer: going },
  ];

  /** @param live the cluster in the API server where it differs from the cache @returns the writes */
  async function written(step: ClusterStep, live: { metadata?: object; spec?: object }): Promise<readonly string[]> {
    const calls: string[] = [];
    const note = (verb: string) => (resource: Resource<KubeObject>, ref: Ref) => {
      calls.push(`${verb} ${resource.kind} ${ref.name}`);
      return Promise.resolve({ metadata: ref });
    };
    const get = ({ kind }: Resource<KubeObject>, { name }: Ref) => {
      if (kind !== "EtcdCluster") return Promise.resolve(plain.claims.find(({ metadata }) => metadata.name === name));
      const { metadata, spec, ...rest } = plain.cluster;
      return Promise.resolve({ ...rest, spec: { ...spec, ...live.spec }, metadata: { ...metadata, ...live.metadata } });
    };
    const list = listing(plain);
    const kube = { get, list, patch: note("patch"), delete: note("delete") } as unknown as ClusterWrites["kube"];
    const writes = { kube, etcd: answering(plain), identities: shown, issuer };
    await actOnCluster(writes, step, plain, new AbortController().signal);
    return calls;
  }

  test.each(steps.map((step) => ({ step })))("$step.do", async ({ step }) => {
    expect(await written(step, {})).toHaveLength(1);
    const paused = { annotations: { [PAUSED_ANNOTATION]: "true" } };
    const waived = { annotations: { [WAIVE_ANNOTATION]: "MembersHealthy until 2026-01-01T13:00:00Z" } };
    const changed = [{ metadata: paused }, { metadata: { generation: 99 } }, { metadata: waived }];
    for (const live of [{ spec: { paused: true } }, ...changed])
      await expect(written(step, live)).rejects.toMatchObject({ code: "KubeConflict" });
  });
});
