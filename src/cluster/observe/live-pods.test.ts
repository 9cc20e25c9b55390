import { describe, expect, test } from "vitest";
import { CLUSTER_LABEL, MANAGED_BY_LABEL, OPERATOR, selectorText } from "#api/names.ts";
import { unknown } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { answering, listing, shown } from "#kit/pods/live-members.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, unpublished } from "#kit/snapshots/cluster.ts";
import { CRASHING, NEWER, saying, wanting, withCanary, withoutPod, withPod } from "#kit/snapshots/cluster-rolling.ts";
import type { Pod } from "#kube/kinds.ts";
import { needOthers, needPodAsSeen, needSilence } from "./live-pods.ts";

const FIRST = { name: "my-etcd-2" };
const LABELS = selectorText({ [MANAGED_BY_LABEL]: OPERATOR, [CLUSTER_LABEL]: "my-etcd" });

const silent = (snapshot: ClusterSnapshot, name: string) => ({
  ...snapshot,
  endpoints: new Map(snapshot.endpoints).set(name, unknown("refused")),
});

/** The pods of the snapshot, with this change of the last member's metadata. */
function podsOf({ pods }: ClusterSnapshot, change: object = {}): readonly Pod[] {
  return [...pods].map(([name, pod]) =>
    name === FIRST.name ? { ...pod, metadata: { ...pod.metadata, ...change } } : pod,
  );
}

describe("needPodAsSeen: before the canary is rolled back, its pod is read from the API server", () => {
  const tried = withCanary(wanting(NEWER), FIRST.name);
  const none = withoutPod(tried, FIRST.name);

  /** @param live the pods in the API server */
  async function checked(given: ClusterSnapshot, live: readonly Pod[]): Promise<readonly object[]> {
    const asked: object[] = [];
    const list = (_: unknown, query: object) => {
      asked.push(query);
      return Promise.resolve({ items: live });
    };
    await needPodAsSeen({ list } as never, given, FIRST, new AbortController().signal);
    return asked;
  }

  test("allows the rollback when the cache is current", async () => {
    const query = { namespace: "foo", labelSelector: LABELS };
    expect(await checked(tried, podsOf(tried))).toEqual([query]);
    expect(await checked(none, podsOf(none))).toEqual([query]);
  });

  test("ignores other pods and pods that are being deleted", async () => {
    const leaving = podsOf(tried, { uid: "before", name: "before", deletionTimestamp: "2026-01-01T12:00:00Z" });
    const others = podsOf(none).map((pod) => ({ ...pod, metadata: { ...pod.metadata, resourceVersion: "999" } }));
    expect(await checked(tried, [...leaving, ...others, ...podsOf(tried).slice(-1)])).toHaveLength(1);
  });

  test.each([
    ["has been updated", podsOf(tried, { resourceVersion: "999" })],
    ["was recreated", podsOf(tried, { uid: "another" })],
    ["is gone", podsOf(none)],
  ])("puts the rollback off when the pod %s", async (_, live) => {
    const { name, uid, resourceVersion } = tried.pods.get(FIRST.name)!.metadata;
    const known = { plural: "pods", namespace: "foo", name, uid, resourceVersion };
    await expect(checked(tried, live)).rejects.toMatchObject({ code: "KubeConflict", known });
  });

  test("allows the rollback when a new pod cannot be dialled either", async () => {
    const refused = { phase: "Failed", reason: "TopologyAffinityError" };
    const given = withPod(tried, FIRST.name, { status: refused });
    const live = podsOf(given, { uid: "another", resourceVersion: "999" });
    expect(await checked(given, live)).toHaveLength(1);
    expect(await checked(none, live)).toHaveLength(1);
    await expect(checked(given, podsOf(tried, { uid: "another" }))).rejects.toMatchObject({ code: "KubeConflict" });
  });

  test("puts the rollback off when the cache lacks the pod", async () => {
    await expect(checked(none, podsOf(tried))).rejects.toMatchObject({
      code: "KubeConflict",
      message: "pod my-etcd-2-abcde exists; the cache does not show it yet",
    });
  });
});

describe("needOthers: before a member is restarted, the other members are dialled again", () => {
  const plain = cluster();
  const UNREADY = [{ type: "Ready", status: "False" }];

  /** @param now the current answers and pods @returns the calls */
  async function checked(given: ClusterSnapshot, now = given): Promise<readonly string[]> {
    const asked: string[] = [];
    const etcd = answering({ ...now, pods: given.pods }, (question) => asked.push(question));
    const asks = { kube: { list: listing(now) }, etcd, identities: shown };
    const step = { do: "restartPod", name: FIRST.name, pod: given.pods.get(FIRST.name)! } as const;
    await needOthers(asks, given, step, new AbortController().signal);
    return asked.sort();
  }
  test("allows the restart when the other members participate", async () => {
    expect(await checked(plain)).toEqual(["probe my-etcd-0", "probe my-etcd-1"]);
  });

  test("asks each member in the way in which it answered before", async () => {
    const given = unpublished(plain, "my-etcd-1");
    expect(await checked(given)).toEqual(["health my-etcd-1", "probe my-etcd-0"]);
    const gone = { ...given, unpublished: new Map() };
    await expect(checked(given, gone)).rejects.toMatchObject({ code: "KubeConflict" });
  });

  test.each([
    ["does not answer", silent(plain, "my-etcd-0")],
    ["has no leader", saying(plain, "my-etcd-0", { leaderId: undefined })],
    ["belongs to another cluster", saying(plain, "my-etcd-0", { clusterId: 1n as never })],
  ])("puts the restart off when another member %s", async (_, now) => {
    await expect(checked(plain, now)).rejects.toMatchObject({
      code: "KubeConflict",
      message: "my-etcd-0 no longer participates in the quorum",
    });
  });

  test.each([
    ["is being deleted", withPod(plain, "my-etcd-0", { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } })],
    ["was recreated", withPod(plain, "my-etcd-0", { metadata: { uid: "another" } })],
    ["is gone", withoutPod(plain, "my-etcd-0")],
  ])("puts the restart off when another member's pod %s and the cache does not show it yet", async (_, { pods }) => {
    const { name, uid, resourceVersion } = plain.pods.get("my-etcd-0")!.metadata;
    const known = { plural: "pods", namespace: "foo", name, uid, resourceVersion };
    await expect(checked(plain, { ...plain, pods })).rejects.toMatchObject({ code: "KubeConflict", known });
  });

  test("ignores pods that are no longer Ready and members that did not participate before", async () => {
    const unready = withPod(plain, "my-etcd-0", {
      metadata: { resourceVersion: "999" },
      status: { conditions: UNREADY },
    });
    expect(await checked(plain, unready)).toHaveLength(2);
    expect(await checked(silent(plain, "my-etcd-1"))).toEqual(["probe my-etcd-0"]);
  });

  test("asks no member when no etcd runs in the pod to be restarted", async () => {
    const stopped = withPod(silent(plain, FIRST.name), FIRST.name, { status: { ...CRASHING, conditions: UNREADY } });
    expect(await checked(stopped, { ...stopped, endpoints: new Map() })).toEqual([]);
  });
});

describe("needSilence: before a voter that did not answer is removed, it is dialled again", () => {
  const plain = cluster();
  const given = silent(plain, FIRST.name);
  const { id } = plain.cluster.status!.identity!.initialMembers.find(({ name }) => name === FIRST.name)!;

  /** @param now the current state @returns the calls */
  async function looked(before: ClusterSnapshot, now: ClusterSnapshot): Promise<readonly string[]> {
    const asked: string[] = [];
    const etcd = answering(now, (question) => asked.push(question));
    const asks = { kube: { list: listing(now) }, etcd, identities: shown };
    await needSilence(asks, before, { ...FIRST, id: memberIdFromHex(id) }, new AbortController().signal);
    return asked.sort();
  }

  test("allows the removal when the voter does not answer, has no pod, or a foreign member answers", async () => {
    expect(await looked(given, given)).toEqual(["probe my-etcd-2"]);
    expect(await looked(given, withoutPod(given, FIRST.name))).toEqual([]);
    expect(await looked(given, saying(plain, FIRST.name, { clusterId: 1n as never }))).toHaveLength(1);
  });

  test("forbids the removal when the voter answers, even in a pod that the cache lacks", async () => {
    const again = { code: "EtcdNotNow", message: "my-etcd-2 answers again" };
    await expect(looked(given, plain)).rejects.toMatchObject(again);
    const unseen = "my-etcd-2 answers, in pod my-etcd-2-abcde; the cache does not show it yet";
    await expect(looked(withoutPod(given, FIRST.name), plain)).rejects.toMatchObject({ message: unseen });
    const before = withPod(given, FIRST.name, { metadata: { uid: "before" }, status: { podIP: "10.9.9.9" } });
    const known = { uid: "before" };
    const younger = withPod(given, FIRST.name, { metadata: { resourceVersion: "1" } });
    await expect(looked(younger, plain)).rejects.toMatchObject({ code: "KubeConflict", message: unseen });
    const stranger = begin(plain)
      .apply(saying, FIRST.name, { clusterId: 1n as never })
      .apply(withPod, FIRST.name, {
        metadata: { uid: "before" },
      }).snapshot;
    await expect(looked(stranger, plain)).rejects.toMatchObject({ message: unseen, known });
    const another = { ...given, unpublished: new Map([[FIRST.name, 1n as never]]) };
    await expect(looked(another, plain)).rejects.toMatchObject(again);
    await expect(looked(before, plain)).rejects.toMatchObject({ code: "KubeConflict", message: unseen, known });
  });

  test("forbids the removal of a later member that passes its health check", async () => {
    const now = unpublished(plain, FIRST.name);
    const before = { ...now, unpublished: new Map() };
    await expect(looked(before, now)).rejects.toMatchObject({ code: "EtcdNotNow" });
    expect(await looked(before, unpublished(plain, FIRST.name, "1"))).toEqual(["health my-etcd-2", "probe my-etcd-2"]);
  });

  test("does not dial a voter that answered when its removal was decided", async () => {
    expect(await looked(plain, plain)).toEqual([]);
    const arriving = unpublished(plain, FIRST.name);
    expect(await looked(arriving, arriving)).toEqual([]);
  });
});
