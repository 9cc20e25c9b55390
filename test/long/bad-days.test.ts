import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { eventually } from "#kit/e2e/e2e.ts";
import { LoadedCluster } from "#kit/e2e/loaded-cluster.ts";
import { watched } from "#kit/tables/watched.ts";

// Manual changes to a cluster are reverted, followed or explained, and no data is lost.

/** Time for the operator to react on a busy machine. */
const SOON_MS = 120_000;
/** A patch that removes the labels by which the operator finds its objects. */
const NO_LABELS = {
  "app.kubernetes.io/managed-by": null,
  "etcd.improbable.io/cluster-name": null,
  "etcd.improbable.io/peer-name": null,
};
const PAUSED = "etcd.improbable.io/paused";

describe("a cluster in use recovers after a person", () => {
  let cluster: LoadedCluster;

  beforeAll(async () => {
    cluster = await LoadedCluster.start("bad-days");
  });

  afterAll(() => cluster?.[Symbol.asyncDispose]());

  /** Retries: etcd refuses to change its members while one has been connected for less than five seconds. */
  async function changeMembers(peer: string, ...args: readonly string[]): Promise<string> {
    return await eventually(() => cluster.etcdctl(peer, "member", ...args), SOON_MS);
  }

  async function uidOf(kind: string, name: string): Promise<string> {
    const { metadata } = await cluster.json<{ metadata: { uid: string } }>("get", kind, name);
    return metadata.uid;
  }

  test("deletes its EtcdPeers, ReplicaSets, Services and budget", async () => {
    const members = await cluster.members("my-etcd-0");
    const objects = [
      ["etcdpeer", "my-etcd-1"],
      ["replicaset", "my-etcd-2"],
      ["service", "my-etcd"],
      ["service", "my-etcd-client"],
      ["poddisruptionbudget", "my-etcd"],
    ] as const;
    const claim = await uidOf("pvc", "my-etcd-1");
    for (const [kind, name] of objects) {
      const before = await uidOf(kind, name);
      await cluster.kubectl("delete", kind, name, "--wait=false");
      await eventually(async () => expect(await uidOf(kind, name), `${kind} ${name}`).not.toBe(before), SOON_MS);
      expect(await cluster.untilWhole(3)).toEqual(["my-etcd-0", "my-etcd-1", "my-etcd-2"]);
    }
    expect(await cluster.members("my-etcd-1")).toEqual(members);
    expect(await uidOf("pvc", "my-etcd-1")).toBe(claim);
  });

  test("edits objects that the operator created", async () => {
    const edits = [
      ["replicaset", "my-etcd-1", { spec: { replicas: 2 } }, "{.spec.replicas}", "1"],
      ["service", "my-etcd-client", { spec: { selector: { app: "else" } } }, "{.spec.selector.app}", ""],
      ["service", "my-etcd", { spec: { publishNotReadyAddresses: false } }, "{.spec.publishNotReadyAddresses}", "true"],
      ["poddisruptionbudget", "my-etcd", { spec: { minAvailable: 0 } }, "{.spec.minAvailable}", "2"],
      [
        "pvc",
        "my-etcd-1",
        { metadata: { labels: NO_LABELS } },
        `{.metadata.labels.etcd\\.improbable\\.io/peer-name}`,
        "my-etcd-1",
      ],
    ] as const;
    for (const [kind, name, patch, path, wanted] of edits) {
      await cluster.kubectl("patch", kind, name, "--type=merge", "-p", JSON.stringify(patch));
      await eventually(
        async () => expect(await cluster.kubectl("get", kind, name, "-o", `jsonpath=${path}`)).toBe(wanted),
        SOON_MS,
      );
    }
    expect(await cluster.untilWhole(3)).toEqual(["my-etcd-0", "my-etcd-1", "my-etcd-2"]);
  });

  test("changes spec.replicas ten times in a second, also to an even number", async () => {
    const edits = [5, 1, 7, 2, 6, 3, 1, 5, 2];
    await Promise.all(edits.map((replicas) => cluster.scale(replicas)));
    await cluster.scale(4);
    await cluster.untilWhole(4);
    const { status } = await cluster.untilReady();
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready?.message).toMatch(/4 tolerate no more failures than 3: an odd number is better/);
    await cluster.scale(3);
    await cluster.untilWhole(3);
  });

  test("pauses the cluster and removes the finalizer of an EtcdPeer that is being deleted", async () => {
    const [name = ""] = (await cluster.names("etcdpeers")).slice(-1);
    const [other = ""] = await cluster.names("etcdpeers");
    const members = await cluster.members(other);
    const claim = await uidOf("pvc", name);
    await cluster.kubectl("annotate", "etcdcluster", cluster.name, `${PAUSED}=true`);
    await cluster.untilCondition("Progressing", "False", "Paused");
    await cluster.scale(5);
    const finalizers = (list: string) => `{"metadata":{"finalizers":[${list}]}}`;
    const finalizer = `"etcdpeer.etcd.improbable.io/pvc-cleanup"`;
    await cluster.kubectl("patch", "etcdpeer", name, "--type=merge", "-p", finalizers(finalizer));
    await cluster.kubectl("delete", "etcdpeer", name, "--wait=false");
    await sleep(5_000); // nothing may happen in this time
    expect(await cluster.names("etcdpeers")).toHaveLength(3);
    expect(await uidOf("pvc", name)).toBe(claim);
    await cluster.kubectl("patch", "etcdpeer", name, "--type=merge", "-p", finalizers(""));
    await eventually(async () => expect(await cluster.names("etcdpeers")).not.toContain(name));
    await cluster.scale(3);
    await cluster.kubectl("annotate", "etcdcluster", cluster.name, `${PAUSED}-`);
    await cluster.untilWhole(3);
    expect(await cluster.members(other)).toEqual(members);
    expect(await uidOf("pvc", name)).toBe(claim);
  });

  test("removes a member with etcdctl, whereupon its claim is quarantined and a new member joins", async () => {
    const [survivor = "", gone = ""] = await cluster.names("etcdpeers");
    const member = (await cluster.members(survivor)).find(({ name }) => name === gone);
    await changeMembers(survivor, "remove", BigInt(member?.id ?? 0).toString(16));
    await eventually(async () => expect(await cluster.quarantined()).toContain(gone), SOON_MS);
    expect(await cluster.untilWhole(3)).not.toContain(gone);
  });

  test("adds a foreign member with etcdctl, which is reported and not changed", async () => {
    const [first = ""] = await cluster.names("etcdpeers");
    const before = await cluster.members(first);
    const added = await changeMembers(first, "add", "mine", "--learner", "--peer-urls=http://mine.test:2380");
    const id = /Member\s+([0-9a-f]+) added/.exec(added)?.[1] ?? "";
    const shown = await eventually(async () => {
      const member = (await cluster.get()).status?.members?.find((each) => each.id === id);
      if (member === undefined) throw new Error(`member ${id} is not shown yet`);
      return member;
    });
    expect(shown).toMatchObject({ name: `mine.test.${id}`, role: "Learner" });
    expect(shown.health).not.toBe("Healthy");
    expect(await cluster.names("etcdpeers")).toHaveLength(3);
    await changeMembers(first, "remove", id);
    await cluster.untilWhole(3);
    expect(await cluster.members(first)).toEqual(before);
  });

  test("adds a member with etcdctl under a name of the operator's pattern, which is removed as surplus", async () => {
    const names = await cluster.names("etcdpeers");
    await using peers = await watched(ETCD_PEERS, cluster.namespace);
    const url = `--peer-urls=http://my-etcd-9.my-etcd.${cluster.namespace}.svc:2380`;
    const added = await changeMembers(names[0]!, "add", "my-etcd-9", "--learner", url);
    const id = /Member\s+([0-9a-f]+) added/.exec(added)?.[1] ?? "";
    // The operator treats it as a member without its EtcdPeer. The cluster has enough voters without it, so it need not
    // start, and all of this takes a second.
    const seen = () => peers.seen.filter(({ metadata }) => metadata.name === "my-etcd-9");
    const removals = () => seen().map(({ metadata }) => metadata.annotations?.["etcd.improbable.io/removal"]);
    await expect.poll(removals, { timeout: SOON_MS }).toContain("scale-down");
    expect(new Set(seen().map(({ spec }) => spec.memberID))).toEqual(new Set([id]));
    expect(await cluster.untilWhole(3)).toEqual(names);
  });

  test("has done all of this, and no acknowledged write is missing", async () => {
    await cluster.end();
  });
});
