import { expect, test } from "vitest";
import { CLUSTER_RULES, planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { BEFORE, NEWER, silentFor, wanting, withCanary } from "#kit/snapshots/cluster-rolling.ts";
import type { Pod } from "#kube/kinds.ts";
import { podTrouble } from "./fitness.ts";

// What is reported about the pod of a member that others wait for.

type Status = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

function withContainer(snapshot: ClusterSnapshot, name: string, container: Partial<Status>): ClusterSnapshot {
  const pod = snapshot.pods.get(name)!;
  const etcd = { name: "etcd", image: "", imageID: "", ready: false, restartCount: 0, ...container };
  const status = { ...pod.status, phase: "Pending", conditions: [], containerStatuses: [etcd] } as Pod["status"] & {};
  return { ...snapshot, pods: new Map([...snapshot.pods, [name, { ...pod, status }]]) };
}

/** The pod of this member runs etcd and has another container in this state. */
function withSidecar(snapshot: ClusterSnapshot, name: string, container: Partial<Status>): ClusterSnapshot {
  const pod = snapshot.pods.get(name)!;
  const sidecar = { name: "sidecar", image: "", imageID: "", ready: false, restartCount: 0, ...container };
  const status = { ...pod.status, containerStatuses: [...(pod.status?.containerStatuses ?? []), sidecar] };
  return { ...snapshot, pods: new Map([...snapshot.pods, [name, { ...pod, status } as Pod]]) };
}

const PULL = { state: { waiting: { reason: "ErrImagePull", message: "quay.io/coreos/etcd:v3.6.99: not found" } } };
const PULL_TEXT = "container etcd waits: ErrImagePull (quay.io/coreos/etcd:v3.6.99: not found)";
const terminated = {
  exitCode: 2,
  reason: "Error",
  message: '{"level":"fatal","msg":"bad","error":"no space left on device"}',
};
const CRASH = { state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: { terminated } };
const settled = cluster();

test.each<[string, ClusterSnapshot, string]>([
  ["nothing for a running pod", settled, ""],
  ["nothing for a missing pod", { ...settled, pods: new Map() }, ""],
  ["nothing for a container that is being created", withContainer(settled, "my-etcd-2", { state: { waiting: { reason: "ContainerCreating" } } }), ""],
  ["a sidecar without an image beside a running etcd", withSidecar(settled, "my-etcd-2", PULL), `; my-etcd-2: ${PULL_TEXT.replace("container etcd", "container sidecar")}`],
  ["an image that cannot be pulled", withContainer(settled, "my-etcd-2", PULL), `; my-etcd-2: ${PULL_TEXT}`],
  ["the last error that etcd logged, for a container in CrashLoopBackOff", withContainer(settled, "my-etcd-2", CRASH), "; my-etcd-2: container etcd waits: CrashLoopBackOff; it ended before with exit code 2 (Error): bad: no space left on device"],
  ["the last error that etcd logged, for a container that has ended", withContainer(settled, "my-etcd-2", { state: { terminated } }), "; my-etcd-2: container etcd ended: Error with exit code 2 (bad: no space left on device)"],
])("podTrouble reports %s", (_, given, expected) => {
  expect(podTrouble(given, "my-etcd-2")).toBe(expected);
}); // biome-ignore format: a table

const rolling = begin(wanting(NEWER))
  .apply(withCanary, "my-etcd-2")
  .apply(silentFor, "my-etcd-2", 60_000)
  .apply(withContainer, "my-etcd-2", PULL).snapshot;

test("while an update waits for a member, Ready, UpToDate and Progressing report why its image cannot be pulled", () => {
  const plan = planCluster(rolling);
  expect(plan).toMatchObject({ next: "wait", because: expect.stringContaining(PULL_TEXT) });
  const { conditions } = clusterStatus(rolling, plan);
  for (const type of ["Ready", "UpToDate", "Progressing"])
    expect([type, conditions?.find((each) => each.type === type)?.message]).toEqual([
      type,
      expect.stringContaining(PULL_TEXT),
    ]);
});

test("a waiting downgrade and the condition Ready report why the image of a member cannot be pulled", () => {
  const given = withContainer(wanting(BEFORE), "my-etcd-1", PULL);
  const said = CLUSTER_RULES.find(({ name }) => name === "enable-downgrade")?.decide(given);
  expect(said).toMatchObject({
    because: expect.stringMatching(/has a Ready pod; my-etcd-1: container/),
  });
  const unready = withContainer(settled, "my-etcd-1", PULL);
  const { conditions } = clusterStatus(unready, { next: "settled" });
  expect(conditions?.find(({ type }) => type === "Ready")).toMatchObject({
    message: `the client Service does not lead to my-etcd-1 yet: not Ready according to the kubelet; my-etcd-1: ${PULL_TEXT}`,
  });
});
