import { type Observed, present, unknown } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";
import { BESIDE } from "./leanings.ts";
import { type Mutant, seeing } from "./mutant.ts";

// Mutants of the rules for pods with sidecars and init containers.

/** Takes an etcd container that has yet to start for running. */
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

/** Takes no member for unready for long. */
function forgiving(snapshot: ClusterSnapshot): ClusterSnapshot {
  const histories = [...snapshot.histories].map(([id, history]) => [id, { ...history, unreadyForMs: 0 }] as const);
  return { ...snapshot, histories: new Map(histories) };
}

/** Does not ask members in pods with phase Pending. */
function shy(seen: Observed<ClusterSnapshot>): Observed<ClusterSnapshot> {
  if (seen.is !== "present") return seen;
  const { pods, endpoints } = seen.value;
  const asked = [...endpoints].filter(([name]) => pods.get(name)?.status?.phase !== "Pending");
  const members = asked.length > 0 ? seen.value.members : unknown("no member was asked");
  return present({ ...seen.value, endpoints: new Map(asked), members });
}

export const BESIDE_MUTANTS: readonly Mutant[] = [
  {
    name: "a pod that cannot start etcd gets neither the corrected template nor a restart",
    edits: [seeing("update-stopped", hopeful), seeing("restart-stopped", hopeful)],
    leaning: BESIDE,
  },
  {
    name: "a pod that cannot start etcd gets the corrected template and no restart",
    edits: [seeing("restart-stopped", hopeful)],
    leaning: BESIDE,
  },
  {
    name: "the operator waits for an unready pod even if a restart would repair it",
    edits: [seeing("update-member", forgiving), seeing("restart-member", forgiving)],
    leaning: BESIDE,
  },
  {
    name: "a member in a Pending pod is not dialled",
    parts: {
      cluster: (controller) => ({
        ...controller,
        observe: async (key, signal) => shy(await controller.observe(key, signal)),
      }),
    },
    leaning: BESIDE,
  },
];
