import { actOnCluster } from "#cluster/act.ts";
import type { World, WorldEvent } from "#kit/world.ts";
import type { Mutation } from "#kit/world-operator.ts";
import { INVARIANTS } from "./invariants.ts";
import { Memory } from "./memory.ts";
import { madeAgainOnADeadWatch } from "./stories.ts";

// Why is this told on purpose?
//   Who the cluster is goes on record once in its life, and by then the claims of the cluster before have been gone for longer than a watch is
//   ever behind, unless it is dead. No history is told often enough for that.

/** An operator to whom the API server says what the cache says, of which claims there are when it puts a cluster on record. */
const credulous: Mutation = {
  cluster: (controller, kube) => ({
    ...controller,
    act(step, snapshot, signal) {
      if (step.do !== "recordIdentity") return controller.act(step, snapshot, signal);
      const believed = Object.create(kube, { list: { value: async () => ({ items: snapshot.claims }) } });
      return actOnCluster({ kube: believed } as Parameters<typeof actOnCluster>[0], step, snapshot, signal);
    },
  }),
};

/**
 * A cluster and its claims are deleted while the watch of claims is dead, and it is made again.
 * @param isCredulous whether the operator believes the cache; else it is the real one
 * @returns the promises that were broken, by name
 */
export async function credulousOperator(isCredulous: boolean): Promise<ReadonlySet<string>> {
  const [memory, broken] = [new Memory(), new Set<string>()];
  const happened = (event: WorldEvent, world: World): void => {
    for (const { name, breaks } of INVARIANTS) if (breaks(event, world, memory) !== undefined) broken.add(name);
    memory.note(event, world);
  };
  await madeAgainOnADeadWatch(false, { happened, mutation: isCredulous ? credulous : {} });
  return broken;
}
