import { describe, expect, test } from "vitest";
import { memberSelector } from "#api/names.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { monitorDiffers, monitorPut, podMonitor } from "#cluster/exposure/desired/pod-monitor.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { born, cluster } from "#kit/snapshots/cluster.ts";
import { asking, MONITOR, monitoring, withMonitored } from "#kit/snapshots/cluster-monitoring.ts";
import type { PodMonitor } from "#kube/kinds.ts";
import type { Rest } from "#runtime/decide.ts";

describe("Monitored", () => {
  const refused: Rest = { because: "it is forbidden", forMs: 60_000, isBrief: false };
  const told = (given: ClusterSnapshot, rest?: Rest) => {
    const plan = planCluster(given, (rule) => (rule === "pod-monitor" ? rest : undefined));
    const { conditions = [] } = clusterStatus(given, plan);
    const monitored = conditions.find(({ type }) => type === "Monitored");
    return monitored === undefined ? undefined : `${monitored.status} ${monitored.reason}`;
  };
  const theirs = { ...MONITOR, metadata: { ...MONITOR.metadata, ownerReferences: [] } };

  test("exists once the spec asks for a PodMonitor, and reports its state", () => {
    expect(told(cluster())).toBeUndefined();
    expect(told(withMonitored(cluster(), "NotMonitored"))).toBe("False NotMonitored");
    expect(told(monitoring(undefined))).toBe("Unknown Waiting");
    expect(told(monitoring(unknown("no answer")))).toBe("Unknown Waiting");
    expect(told(monitoring(absent))).toBe("False Waiting");
    expect(told(monitoring({ is: "notServed" }))).toBe("False MonitorsNotServed");
    expect(told(monitoring(present(MONITOR)))).toBe("True Monitored");
    expect(told(monitoring(present(theirs)))).toBe("False NameTaken");
    expect(told(monitoring(absent), refused)).toBe("False StepRefused");
    // Also before the condition is recorded.
    expect(told({ ...asking, podMonitor: absent })).toBe("False Waiting");
    expect(told({ ...asking, podMonitor: present(MONITOR) })).toBe("True Monitored");
  });

  test("has a message with the remedy", () => {
    const said = (given: ClusterSnapshot) =>
      clusterStatus(given, planCluster(given)).conditions?.find(({ type }) => type === "Monitored")?.message;
    expect(said(monitoring({ is: "notServed" }))).toMatch(/serves no PodMonitors .*install the CRDs/);
    expect(said(monitoring(unknown("no answer")))).toBe("no answer");
    expect(said(monitoring(present(theirs)))).toMatch(/^PodMonitor my-etcd exists already/);
    expect(said(monitoring(present(MONITOR)))).toBe("PodMonitor my-etcd selects the members' metrics");
  });

  test("does not replace other reports of refused steps and taken names in Ready", () => {
    const given = { ...monitoring(present(theirs)), clientService: undefined };
    const plan = planCluster(given, (rule) => (rule === "client-service" ? refused : undefined));
    const { conditions = [] } = clusterStatus(given, plan);
    expect(conditions.find(({ type }) => type === "Monitored")?.reason).toBe("NameTaken");
    expect(conditions.find(({ type }) => type === "Ready")).toMatchObject({ status: "False", reason: "StepRefused" });
    const named = monitoring(present(theirs));
    const ready = clusterStatus(named, planCluster(named)).conditions?.find(({ type }) => type === "Ready");
    expect(ready).toMatchObject({ status: "False", reason: "NameTaken" });
  });

  test("stays after the spec no longer asks for a PodMonitor", () => {
    const off = { podMonitor: { enabled: false } };
    expect(told(monitoring(present(MONITOR), off))).toBe("False Waiting");
    expect(told(monitoring(present(theirs), off))).toBe("False NotMonitored");
    expect(told(monitoring(absent, off))).toBe("False NotMonitored");
    expect(told(monitoring({ is: "notServed" }, off))).toBe("False NotMonitored");
  });

  test("does not change while the cluster is being deleted", () => {
    expect(
      told({ ...cluster({ deleting: true, spec: { monitoring: { podMonitor: { enabled: true } } } }) }),
    ).toBeUndefined();
    const going = monitoring(present(MONITOR));
    const metadata = { ...going.cluster.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" };
    expect(told({ ...going, cluster: { ...going.cluster, metadata } })).toBe("False Waiting");
  });
});

test("a PodMonitor selects the members' metrics and is replaced when its spec differs", () => {
  const wanted = podMonitor(asking);
  expect(wanted.spec).toEqual({
    selector: {
      matchLabels: memberSelector("my-etcd"),
    },
    podTargetLabels: ["etcd.improbable.io/cluster-name", "etcd.improbable.io/peer-name"],
    podMetricsEndpoints: [{ port: "etcd-metrics", path: "/metrics" }],
  });
  expect(wanted.metadata).toMatchObject({ namespace: "foo", name: "my-etcd" });
  const live = MONITOR;
  const [endpoint] = live.spec!.podMetricsEndpoints!;
  const of = (spec: object) => monitorDiffers({ ...live, spec: { ...live.spec!, ...spec } }, wanted);
  expect(of({})).toBe(false);
  expect(of({ namespaceSelector: {}, podMetricsEndpoints: [{ ...endpoint, filterRunning: true }] })).toBe(false);
  expect(of({ namespaceSelector: { any: true } })).toBe(true);
  expect(of({ podMetricsEndpoints: [{ ...endpoint, port: "other" }] })).toBe(true);
  expect(of({ podMetricsEndpoints: [{ ...endpoint, path: "/other" }] })).toBe(true);
  expect(of({ podTargetLabels: [] })).toBe(true);
  expect(of({ selector: { matchLabels: {} } })).toBe(true);
  expect(monitorDiffers({ ...live, metadata: { ...live.metadata, annotations: {} } }, wanted)).toBe(true);
});

test("a PodMonitor has the labels of the spec, and loses only those that were removed from the spec", () => {
  const metadata = {
    labels: { release: "prometheus", "app.kubernetes.io/managed-by": "helm" },
    annotations: { a: "1" },
  };
  const labelled = podMonitor(cluster({ spec: { monitoring: { podMonitor: { enabled: true, metadata } } } }));
  const plain = podMonitor(asking);
  expect(labelled.metadata.labels).toEqual({ ...plain.metadata.labels, release: "prometheus" });
  expect(labelled.metadata.annotations).toMatchObject({ a: "1" });
  expect(monitorDiffers(MONITOR, labelled)).toBe(true);
  const made = born<PodMonitor>(labelled);
  expect(monitorDiffers(made, labelled)).toBe(false);
  const edited = (labels: Record<string, string>) => ({
    ...made,
    metadata: { ...made.metadata, labels: { ...made.metadata.labels, ...labels } },
  });
  expect(monitorDiffers(edited({ release: "other" }), labelled)).toBe(true);
  expect(monitorDiffers(edited({ team: "a" }), labelled)).toBe(false);
  const put = monitorPut(edited({ team: "a" }), plain);
  expect(put.metadata.labels).toEqual({ ...plain.metadata.labels, team: "a" });
  expect(put.metadata.annotations).toEqual(plain.metadata.annotations);
});
