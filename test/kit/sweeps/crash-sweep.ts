import { afterAll, beforeAll, expect, test } from "vitest";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { eventually } from "#kit/e2e/e2e.ts";
import { withoutDeployedOperator } from "./operator-process.ts";
import { type Scenario, sweep } from "./operator-sweep.ts";
import type { World } from "./operator-world.ts";

// The operator dies after every single write, and is started again. The end must be the same as without its death.

/**
 * Writes that not every run makes: of status, a second leader transfer, and later changes of the budget. The budget's
 * number follows the running pods. So it changes twice less when one member's pod ends only after another pod has
 * started.
 */
const MAY_BE_MISSED = /\/status |^MoveLeader #2|^PUT poddisruptionbudgets\/my-etcd #([2-9]|1\d)/;

export interface Swept {
  readonly scenario: Scenario;
  /** Writes that the run must make: without them the sweep would not test what it is for. */
  readonly mustWrite: readonly string[];
}

/** Declares a test for each scenario. The deployed operator is scaled down during the tests. */
export function testSweeps(swept: readonly Swept[]): void {
  let deployed: AsyncDisposable;

  beforeAll(async () => {
    deployed = await withoutDeployedOperator();
  });

  afterAll(async () => {
    await deployed[Symbol.asyncDispose]();
  });

  for (const { scenario, mustWrite } of swept) {
    test(`crash sweep of ${scenario.name}: the outcome is the same when the operator dies after any of its writes`, async () => {
      const { writes, runs, seconds } = await sweep(scenario);
      const deaths = runs.filter(({ died }) => died).length;
      console.log(`${scenario.name}: ${writes.length} writes, ${deaths} deaths in ${runs.length} runs, ${seconds} s`);
      expect(runs.filter(({ fault }) => fault !== undefined)).toEqual([]);
      expect(writes).toEqual(expect.arrayContaining([...mustWrite]));
      const missed = runs.filter(({ died, point }) => !died && !MAY_BE_MISSED.test(point));
      expect(missed).toEqual([]);
    }, 1_200_000);
  }
}

/** A cluster that is ready and has a key. */
export async function readyWith(
  world: World,
  replicas: number,
  spec: Omit<Partial<EtcdClusterSpec>, "replicas"> = {},
): Promise<void> {
  await world.create({ ...spec, replicas });
  await eventually(() => world.mustBeReady());
  await world.write("key", "written before");
}

export async function mustHaveItsData(world: World): Promise<void> {
  expect(await world.readBack("key")).toBe("written before");
}
