import { describe, expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { OperatorError } from "#base/error.ts";
import { absent, unknown } from "#base/observed.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { asking, withMonitored } from "#kit/snapshots/cluster-monitoring.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { Monitoring } from "./monitoring.ts";

const GROUPS = JSON.stringify({ groups: [{ name: "monitoring.coreos.com", versions: [{ version: "v1" }] }] });
const KINDS = JSON.stringify({ resources: [{ name: "podmonitors" }] });
const { signal } = new AbortController();

/** An API server with these answers, and the calls. */
function asked(say: { groups?: string; kinds?: string } = {}) {
  const calls: string[] = [];
  const clock = new FakeClock();
  const kube = {
    raw: (_: string, path: string) => {
      calls.push(path);
      return Promise.resolve(path === "/apis" ? (say.groups ?? GROUPS) : (say.kinds ?? KINDS));
    },
    find: (_: unknown, { namespace, name }: { namespace: string; name: string }) => {
      calls.push(`${namespace}/${name}`);
      return Promise.resolve(say.kinds === "refused" ? unknown("refused") : absent);
    },
  };
  const monitors = new Monitoring(kube as unknown as ConstructorParameters<typeof Monitoring>[0], clock);
  const look = (of: EtcdCluster = asking.cluster) => monitors.look(of, signal);
  return { calls, clock, look, monitors };
}

const DISCOVERY = ["/apis", "/apis/monitoring.coreos.com/v1"];

describe("the operator reads the PodMonitor", () => {
  test("never while no PodMonitor is wanted or the cluster is being deleted", async () => {
    const { calls, look } = asked();
    expect(await look(cluster().cluster)).toBeUndefined();
    expect(await look(withMonitored(cluster(), "NotMonitored").cluster)).toBeUndefined();
    const { metadata } = asking.cluster;
    expect(
      await look({ ...asking.cluster, metadata: { ...metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } }),
    ).toBeUndefined();
    expect(calls).toEqual([]);
  });

  test("while the condition Monitored records that a PodMonitor may exist", async () => {
    const { calls, look } = asked();
    expect(await look(withMonitored(cluster(), "Monitored").cluster)).toEqual(absent);
    expect(calls).toEqual([...DISCOVERY, "foo/my-etcd"]);
  });

  test("once a minute, and checks every five minutes whether the kind is served", async () => {
    const { calls, clock, look } = asked();
    for (let second = 0; second < 299; second += 10) {
      await look();
      await clock.advance(10_000);
    }
    expect(calls).toEqual([...DISCOVERY, ...Array(5).fill("foo/my-etcd")]);
    await look();
    expect(calls.slice(7)).toEqual([...DISCOVERY, "foo/my-etcd"]);
  });

  test("immediately after it has written the PodMonitor", async () => {
    const { calls, look, monitors } = asked();
    await look();
    monitors.forget({ namespace: "foo", name: "my-etcd" });
    await look();
    expect(calls.slice(2)).toEqual(["foo/my-etcd", "foo/my-etcd"]);
  });

  test("for no cluster when the API server does not serve the kind", async () => {
    for (const say of [
      { groups: '{"groups":[]}' },
      { groups: '{"groups":[{"name":"monitoring.coreos.com"}]}' },
      { groups: '{"groups":[{"name":"monitoring.coreos.com","versions":[{"version":"v1alpha1"}]}]}' },
      { kinds: '{"resources":[{"name":"probes"}]}' },
    ]) {
      const { calls, look } = asked(say);
      expect(await look()).toEqual({ is: "notServed" });
      const other = { ...asking.cluster, metadata: { ...asking.cluster.metadata, name: "other" } };
      expect(await look(other)).toEqual({ is: "notServed" });
      expect(calls.length).toBe("kinds" in say ? 2 : 1);
    }
  });

  test("at each observation after an invalid answer of API discovery", async () => {
    for (const say of [{ groups: "<html>" }, { groups: "[]" }, { kinds: "{}" }]) {
      const { calls, look } = asked(say);
      expect((await look())?.is).toBe("unknown");
      const before = calls.length;
      expect((await look())?.is).toBe("unknown");
      expect(calls.length).toBe(2 * before);
    }
  });

  test("and throws when the read is cancelled", async () => {
    const clock = new FakeClock();
    const raw = () => Promise.reject(new OperatorError("Cancelled", "cut off"));
    const monitors = new Monitoring({ raw, find: raw } as never, clock);
    await expect(monitors.look(asking.cluster, signal)).rejects.toMatchObject({ code: "Cancelled" });
  });
});
