import { type Observed, present, unknown } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";
import { BESIDE } from "./leanings.ts";
import { type Mutant, seeing } from "./mutant.ts";

// What the operator would do wrong about pods in which etcd is not alone.

/** The snapshot in which etcd's container is taken for running when it has only yet to start. */
function hopeful(snapshot: ClusterSnapshot): ClusterSnapshot {
  const pods = [...snapshot.pods].map(([name, pod]): [string, Pod] => {
    const told = pod.status?.containerStatuses?.map((each) => {
      const isUsual = ["ContainerCreating", "PodInitializing"].includes(each.state?.waiting?.reason ?? "");
      return isUsual && each.lastState === undefined ? { ...each, state: { running: {} } } : each;
    });
    const containerStatuses = told ?? [{ name: "etcd", state: { running: {} } }];
    return [name, { ...pod, status: { ...pod.status, containerStatuses } } as Pod];
  });
  return { ...snapshot, pods: new Map(pods) };
}

/** The snapshot in which nobody has been found unready for long. */
function forgiving(snapshot: ClusterSnapshot): ClusterSnapshot {
  const histories = [...snapshot.histories].map(([id, history]) => [id, { ...history, unreadyForMs: 0 }] as const);
  return { ...snapshot, histories: new Map(histories) };
}

/** What is seen when no pod is asked that Kubernetes calls pending. */
function shy(seen: Observed<ClusterSnapshot>): Observed<ClusterSnapshot> {
  if (seen.is !== "present") return seen;
  const { pods, endpoints } = seen.value;
  const asked = [...endpoints].filter(([name]) => pods.get(name)?.status?.phase !== "Pending");
  const members = asked.length > 0 ? seen.value.members : unknown("nobody was asked");
  return present({ ...seen.value, endpoints: new Map(asked), members });
}

export const BESIDE_MUTANTS: readonly Mutant[] = [
  {
    name: "a pod in which etcd has yet to start is left alone",
    edits: [seeing("renew-stopped", hopeful), seeing("restart-stopped", hopeful)],
    leaning: BESIDE,
  },
  {
    name: "a pod in which etcd has yet to start is given the correction, and not made anew",
    edits: [seeing("restart-stopped", hopeful)],
    leaning: BESIDE,
  },
  {
    name: "whose pod is not ready is waited for, whatever would help it",
    edits: [seeing("give-turn", forgiving), seeing("restart-member", forgiving)],
    leaning: BESIDE,
  },
  {
    name: "a member whose pod is called pending is not asked",
    parts: {
      cluster: (controller) => ({
        ...controller,
        observe: async (key, signal) => shy(await controller.observe(key, signal)),
      }),
    },
    leaning: BESIDE,
  },
];
