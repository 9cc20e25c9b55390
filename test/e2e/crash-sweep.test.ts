import { afterAll, beforeAll, expect, test } from "vitest";
import { withoutDeployedOperator } from "#kit/operator-process.ts";
import { type Scenario, type Sweep, sweep } from "#kit/operator-sweep.ts";
import type { World } from "#kit/operator-world.ts";

// The operator dies after every single write, and is started again: the end is the same as without its death.

let deployed: AsyncDisposable;

beforeAll(async () => {
  deployed = await withoutDeployedOperator();
});

afterAll(async () => {
  await deployed[Symbol.asyncDispose]();
});

const bootstrap: Scenario = {
  name: "bootstrap",
  act: (world) => world.create({ replicas: 3 }),
  settled: (world) => world.mustBeReady(),
  holds: mustHaveItsOwnIdentity,
};

async function mustHaveItsOwnIdentity(world: World): Promise<void> {
  const cluster = await world.cluster();
  const { uid = "" } = cluster?.metadata ?? {};
  const expected = world.expectedClusterId(uid, ["my-etcd-0", "my-etcd-1", "my-etcd-2"]);
  expect(cluster?.status?.identity?.clusterID).toBe(expected);
}

test("an operator that dies after any write of a bootstrap leaves one cluster, complete and with nothing over", async () => {
  const swept = await sweep(bootstrap);
  tell(bootstrap, swept);
  expect(swept.runs.filter(({ fault }) => fault !== undefined)).toEqual([]);
  expect(swept.writes).toContain("POST persistentvolumeclaims/my-etcd-2");
  expect(missed(swept)).toEqual([]);
}, 600_000);

/** Points at which no operator died although they are not status writes, of which a run may need fewer. */
function missed({ runs }: Sweep): string[] {
  return runs.filter(({ died, point }) => !died && !point.includes("/status ")).map(({ point }) => point);
}

function tell({ name }: Scenario, { runs, seconds }: Sweep): void {
  const died = runs.filter((run) => run.died).length;
  const lines = runs.map(
    ({ point, died: hit, fault }) => `  ${hit ? "died" : "----"} ${point} ${fault === undefined ? "" : "FAULT"}`,
  );
  console.log(`${name}: ${died} deaths in ${runs.length} runs, ${seconds} s\n${lines.join("\n")}`);
}
