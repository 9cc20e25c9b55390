import { describe, expect, test } from "vitest";
import { needPodAsSeen } from "#cluster/live-pods.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { NEWER, wanting, withCanary, withoutPod } from "#kit/cluster-rolling.ts";
import type { Pod } from "#kube/kinds.ts";

const FIRST = { name: "my-etcd-2" };

/** The pods of the snapshot, that of the last member changed so. */
function podsOf({ pods }: ClusterSnapshot, change: object = {}): readonly Pod[] {
  return [...pods].map(([name, pod]) =>
    name === FIRST.name ? { ...pod, metadata: { ...pod.metadata, ...change } } : pod,
  );
}

describe("before the first one that an update has restarted is put back, its pod is read once more", () => {
  const tried = withCanary(wanting(NEWER), FIRST.name);
  const none = withoutPod(tried, FIRST.name);

  /** @param live what the API server has */
  async function checked(given: ClusterSnapshot, live: readonly Pod[]): Promise<readonly object[]> {
    const asked: object[] = [];
    const list = (_: unknown, query: object) => {
      asked.push(query);
      return Promise.resolve({ items: live });
    };
    await needPodAsSeen({ list } as never, given, FIRST, new AbortController().signal);
    return asked;
  }

  test("and it is, when that is as the cache shows it", async () => {
    const query = { namespace: "foo", labelSelector: "etcd.improbable.io/cluster-name=my-etcd" };
    expect(await checked(tried, podsOf(tried))).toEqual([query]);
    expect(await checked(none, podsOf(none))).toEqual([query]);
  });

  test("pods of others may have changed, and one that is on its way out is not the one that runs", async () => {
    const leaving = podsOf(tried, { uid: "before", name: "before", deletionTimestamp: "2026-01-01T12:00:00Z" });
    const others = podsOf(none).map((pod) => ({ ...pod, metadata: { ...pod.metadata, resourceVersion: "999" } }));
    expect(await checked(tried, [...leaving, ...others, ...podsOf(tried).slice(-1)])).toHaveLength(1);
  });

  test.each([
    ["says more of itself", podsOf(tried, { resourceVersion: "999" })],
    ["is another one", podsOf(tried, { uid: "another" })],
    ["is gone", podsOf(none)],
  ])("not when it %s by now", async (_, live) => {
    const { name, uid, resourceVersion } = tried.pods.get(FIRST.name)!.metadata;
    const known = { plural: "pods", namespace: "foo", name, uid, resourceVersion };
    await expect(checked(tried, live)).rejects.toMatchObject({ code: "KubeConflict", known });
  });

  test("nor when there is one that no cache shows", async () => {
    await expect(checked(none, podsOf(tried))).rejects.toMatchObject({
      code: "KubeConflict",
      message: "pod my-etcd-2-abcde, which no cache knows, is there",
    });
  });
});
