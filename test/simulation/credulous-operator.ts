import { actOnCluster } from "#cluster/act.ts";
import type { Mutation } from "#kit/world/operator.ts";
import type { World, WorldEvent } from "#kit/world/world.ts";
import { INVARIANTS } from "./invariants.ts";
import { Memory } from "./memory.ts";
import { madeAgainOnADeadWatch } from "./stories.ts";

// A cluster's identity is recorded once in its life. The claims of the previous cluster have then been gone for longer
// than a watch lags, unless the watch is dead. Random histories rarely reach that, so it is scripted.

/** An operator that reads the cached claims as the API server's when it records an identity. */
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
 * Deletes a cluster and its claims while the watch of claims is dead, and creates the cluster again.
 * @param isCredulous whether the operator trusts its cache; otherwise it is the real one
 * @returns names of the broken promises
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
