import { describe, expect, test } from "vitest";
import { actOnCluster, type ClusterWrites } from "#cluster/act.ts";
import { newIdentity } from "#cluster/desired/identity.ts";
import { newPeer } from "#cluster/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { born, claim, cluster } from "#kit/cluster.ts";
import type { KubeObject, Resource } from "#kube/kinds.ts";

// Before two of its writes the room asks the API server whether what the cache says still holds.

/** Does the step against an API server that holds these objects. @returns what was written, by verb */
async function writesOf(step: ClusterStep, snapshot: ClusterSnapshot, live: readonly KubeObject[]): Promise<string[]> {
  const written: string[] = [];
  const write = (verb: string) => (_: Resource<KubeObject>, draft: KubeObject) => {
    written.push(verb);
    return Promise.resolve(draft);
  };
  const kube = {
    get: ({ kind }: Resource<KubeObject>, { name }: { name: string }) =>
      Promise.resolve(live.find((each) => each.kind === kind && each.metadata.name === name)),
    create: write("create"),
    replace: write("replace"),
  } as unknown as ClusterWrites["kube"];
  const etcd = {} as ClusterWrites["etcd"];
  await actOnCluster({ kube, etcd }, step, snapshot, AbortSignal.timeout(1_000));
  return written;
}

describe("an EtcdPeer that may bootstrap", () => {
  const forming = cluster({ stage: "starting" });
  const identity = forming.cluster.status!.identity!;
  const step: ClusterStep = { do: "createPeer", peer: newPeer(forming, identity, "my-etcd-0") };

  test("is made again when the API server says that its member never joined", async () => {
    expect(await writesOf(step, forming, [forming.cluster])).toEqual(["create"]);
  });

  test("is not when it has joined meanwhile, whatever the cache says", async () => {
    const initialMembers = identity.initialMembers.map((member) => ({ ...member, joined: true }));
    const now = {
      ...forming.cluster,
      status: { ...forming.cluster.status, identity: { ...identity, initialMembers } },
    };
    await expect(writesOf(step, forming, [now])).rejects.toMatchObject({ code: "KubeConflict" });
  });

  test("is not when the cluster is another one by now", async () => {
    const other = { ...forming.cluster, metadata: { ...forming.cluster.metadata, uid: "another" } };
    await expect(writesOf(step, forming, [other])).rejects.toMatchObject({ code: "KubeConflict" });
  });
});

describe("an identity by which a kept claim's member has not joined", () => {
  const kept = claim("my-etcd-0", {}, { bound: false });
  const fresh = cluster({ stage: "new", with: { claims: [kept] } });
  const step: ClusterStep = { do: "recordIdentity", identity: newIdentity(fresh) };

  test("is written when the claim has no volume", async () => {
    expect(await writesOf(step, fresh, [kept])).toEqual(["replace"]);
  });

  test("is not when the claim has one by now", async () => {
    const bound = { ...kept, spec: { volumeName: "volume-1" } };
    await expect(writesOf(step, fresh, [bound])).rejects.toMatchObject({ code: "KubeConflict" });
  });

  test("is not when the claim is another one by now", async () => {
    const other = born({ ...kept, metadata: { ...kept.metadata } }, "another-uid");
    await expect(writesOf(step, fresh, [other])).rejects.toMatchObject({ code: "KubeConflict" });
  });
});
