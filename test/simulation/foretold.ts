import { editIn } from "#api/dry-run.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster, type PlanStatus } from "#api/v1beta1/cluster.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import type { ClusterController } from "#kit/world/operator.ts";
import type { Random } from "#kit/world/random.ts";
import { eventName } from "#runtime/event-name.ts";
import { type Scene, scene } from "./stories/scene.ts";

/** An edit of the spec of a complete cluster at rest. */
export interface Edited {
  readonly replicas: number;
  /** An earlier edit, on which the effect of this one depends. */
  readonly before: Partial<EtcdCluster["spec"]>;
  readonly edit: Partial<EtcdCluster["spec"]>;
}

const RESTARTED = { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": "now" } } };
const TEMPLATES: readonly EtcdCluster["spec"]["podTemplate"][] = [
  RESTARTED,
  withResources({ requests: { cpu: "1" } }),
  { spec: { hostNetwork: true } }, // No member could run it.
  // Removes the existing metadata.
  { metadata: null } as unknown as EtcdCluster["spec"]["podTemplate"],
];

/** A random edit. The same random numbers give the same edit. */
export function editOf(random: Random): Edited {
  const some = <T>(values: readonly T[]): T | undefined => (random.chance(0.5) ? random.pick(values) : undefined);
  const wishes: Partial<Record<keyof EtcdCluster["spec"], unknown>> = {
    replicas: some([1, 2, 3, 4, 5]),
    version: some(["3.7.3", "3.6.17", "3.5.35", "3.6.16"]),
    podTemplate: some(TEMPLATES),
    disruptionBudget: random.chance(0.2) ? { policy: "None" } : undefined,
    updateStrategy: random.chance(0.2) ? { type: "OnDelete" } : undefined,
    clientService: random.chance(0.2) ? { type: "NodePort" } : undefined,
  };
  const edit = Object.fromEntries(Object.entries(wishes).filter(([, value]) => value !== undefined));
  const before = random.chance(0.2) ? { podTemplate: RESTARTED } : {};
  return { replicas: random.pick([1, 2, 3, 3, 5]) ?? 3, before, edit };
}

/** The plan's forecast, and the steps of the operator after the edit. */
export interface Compared {
  readonly plan: PlanStatus;
  readonly foretold: readonly string[];
  readonly done: readonly string[];
  readonly of: Scene;
}

/** Asks for the plan of an edit, and then makes the edit. */
export async function compared({ replicas, before, edit }: Edited): Promise<Compared> {
  const done: string[] = [];
  const of = await scene(replicas, { mutation: { cluster: (real) => noted(real, done) } });
  of.edit(before);
  await of.untilQuiet();
  done.length = 0;
  const made = ask(of, JSON.stringify(edit));
  await of.untilQuiet();
  const { dryRun: plan } = of.cluster.status ?? {};
  if (plan === undefined) throw new Error("there is no plan");
  if (done.length > 0) throw new Error(`the dry run caused ${done}`);
  ask(of, undefined);
  const { spec } = made;
  of.edit(spec);
  await of.untilQuiet();
  return {
    plan,
    foretold: (plan.steps ?? []).map(({ rule, step, member = "" }) => `${rule} ${step} ${member}`),
    done,
    of,
  };
}

/** Asks for a dry run of the edit. @returns the cluster with the edited spec */
function ask(of: Scene, edit: string | undefined): Pick<EtcdCluster, "spec"> {
  const { cluster } = of;
  const annotations = edit === undefined ? {} : { [DRY_RUN_ANNOTATION]: edit };
  const asked = { ...cluster, metadata: { ...cluster.metadata, annotations } };
  of.world.api.update("person", ETCD_CLUSTERS, cluster, { metadata: asked.metadata });
  const made = editIn(asked);
  if (made?.is === "refused") throw new Error(made.why);
  return made ?? cluster;
}

/** The controller, with each of its steps recorded under the name of its rule. */
function noted(real: ClusterController, done: string[]): ClusterController {
  let rule = "";
  return {
    ...real,
    plan: (snapshot, resting) => {
      const plan = real.plan(snapshot, resting);
      if (plan.next === "step") rule = plan.rule;
      return plan;
    },
    act: async (step, snapshot, signal) => {
      const by = rule;
      const written = await real.act(step, snapshot, signal);
      done.push(`${eventName(by)} ${eventName(step.do)} ${memberOf(step)}`);
      return written;
    },
  };
}

function memberOf(step: ClusterStep): string {
  if (step.do === "moveLeader") return step.from;
  return "peer" in step ? step.peer.metadata.name : "name" in step ? step.name : "";
}
