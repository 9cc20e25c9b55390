import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import type { Fault } from "#kit/servers/fallible-api.ts";
import { formCluster } from "#kit/sweeps/restore-cluster.ts";
import { type Course, operator, phaseOf, reasonOf, settle, tell } from "#kit/sweeps/restore-course.ts";
import { wrongEnd } from "#kit/sweeps/restore-promises.ts";
import { SCENARIOS } from "#kit/sweeps/restore-scenarios.ts";
import { CLAIMS, CLUSTERS, RESTORES, RestoreWorld } from "#kit/sweeps/restore-world.ts";
import { JOBS, PODS } from "#kube/kinds.ts";

// The operator dies before and after every write of a restore, or does not receive the answer.
// Other clients create and delete objects at every moment.
// A restore never touches a claim that is not its own, hands over complete data only, and leaves nothing behind.

function expectKept(world: RestoreWorld, what: string): void {
  expect([...world.wrong, ...wrongEnd(world)], what).toEqual([]);
}

describe("the outcome is the same when the operator dies at any of its writes or a write fails:", () => {
  test.each(SCENARIOS)("$name", async ({ end, ...course }) => {
    const undisturbed = await tell(course);
    expect(phaseOf(undisturbed)).toBe(end);
    expectKept(undisturbed, "undisturbed");
    expect(undisturbed.writes.length).toBeGreaterThan(5);
    for (let at = 1; at <= undisturbed.tries; at++)
      for (const fault of ["before", "after", "lost", "refused"] as const) {
        const world = await tell({ ...course, faults: [[at, fault]] });
        const what = `${fault} ${undisturbed.writes[at - 1]?.verb} ${undisturbed.writes[at - 1]?.name}`;
        expectKept(world, what);
        expect(phaseOf(world), what).toBe(end);
      }
  });
});

type Act = (world: RestoreWorld) => void;

/** Acts of other clients at any moment, and the ends that the restore may have then. */
const OTHERS: readonly { readonly does: string; readonly act: Act; readonly ends: readonly string[] }[] = [
  { does: "creates an EtcdCluster", act: (world) => void world.makeCluster(), ends: ["Completed Completed", "Failed ClusterExists"] },
  { does: "creates an EtcdCluster that forms at once", act: (world) => formCluster(world.makeCluster() && world), ends: ["Completed Completed", "Failed ClusterExists"] },
  { does: "creates a claim of a member", act: (world) => void world.makeClaim("restored-1"), ends: ["Completed Completed", "Failed ClaimExists"] },
  // A cluster with claims of different origins does not choose between them: a person decides.
  { does: "creates a claim of the cluster", act: (world) => void world.makeClaim("restored-7"), ends: ["Completed Completed", "Failed ClaimExists", "Pending StartingCluster"] },
  { does: "deletes a claim", act: (world) => world.remove(CLAIMS, "restored-1"), ends: ["Completed Completed", "Failed ClaimLost"] },
  { does: "deletes all claims", act: (world) => world.deleteAll(CLAIMS), ends: ["Completed Completed", "Failed ClaimLost"] },
  { does: "deletes the EtcdRestore", act: (world) => world.remove(RESTORES, "back"), ends: ["gone"] },
  { does: "deletes the Jobs", act: (world) => world.deleteAll(JOBS.plural), ends: ["Completed Completed"] },
  { does: "deletes the EtcdCluster", act: (world) => world.deleteCluster(), ends: ["Completed Completed", "gone"] },
  { does: "deletes the EtcdBackup", act: (world) => world.remove(ETCD_BACKUPS.plural, "nightly"), ends: ["Completed Completed", "Failed BackupNotFound"] },
  { does: "removes the annotations of a claim", act: (world) => world.silence("restored-1"), ends: ["Completed Completed"] },
]; // biome-ignore format: a table

/** Moments for acts of others, once each: every state that they see, every gap between two requests of the operator. */
async function momentsOf(given: Course["given"]): Promise<readonly number[]> {
  const { seen } = await tell({ given });
  const isQuiet = (n: number) => seen[n]?.is === "look" && seen[n + 1]?.is === "look";
  return seen.flatMap((each, n) => (isQuiet(n) && seen[n - 1]?.version === each.version ? [] : [n + 1]));
}

describe("every invariant of restores holds, at whatever moment", () => {
  test.each(OTHERS)("another client $does", async ({ act, ends }) => {
    const reached = new Set<string>();
    for (const given of [{}, { isAsked: true }])
      for (const at of await momentsOf(given)) {
        const world = await tell({ given, happenings: [[at, act]] });
        expectKept(world, `moment ${at}, ${JSON.stringify(given)}`);
        reached.add(`${phaseOf(world)} ${reasonOf(world)}`.trim());
      }
    expect([...reached].toSorted()).toEqual(ends);
  });
});

type Event =
  | { readonly is: "other"; readonly n: number }
  | { readonly is: "fault"; readonly fault: Fault; readonly after: number }
  | { readonly is: "show"; readonly plural: string }
  | { readonly is: "look" | "step" };

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ is: fc.constant("other" as const), n: fc.nat(OTHERS.length - 1) }) },
  { weight: 2, arbitrary: fc.record({ is: fc.constant("fault" as const), fault: fc.constantFrom<Fault>("before", "after", "lost", "refused"), after: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 20, arbitrary: fc.record({ is: fc.constant("show" as const), plural: fc.constantFrom(CLAIMS, CLUSTERS, RESTORES, JOBS.plural, PODS.plural, ETCD_BACKUPS.plural) }) },
  { weight: 20, arbitrary: fc.record({ is: fc.constant("look" as const) }) },
  { weight: 8, arbitrary: fc.record({ is: fc.constant("step" as const) }) },
); // biome-ignore format: a table

test("every invariant of restores holds with random events and independently stale caches", async () => {
  const courses = fc.asyncProperty(
    fc.array(event, { minLength: 40, maxLength: 250 }),
    fc.boolean(),
    async (events, isAsked) => {
      const world = new RestoreWorld({ isAsked });
      let look = operator(world);
      for (const each of events) {
        if (each.is === "other") OTHERS[each.n]?.act(world);
        else if (each.is === "fault") world.faults.set(world.tries + each.after, each.fault);
        else if (each.is === "show") world.show(each.plural);
        else if (each.is === "step") world.goOn();
        else await look();
        if (!world.isDead) continue;
        world.isDead = false;
        look = operator(world);
      }
      world.faults.clear();
      await settle(world, look);
      expectKept(world, "in the end");
    },
  );
  await fc.assert(courses, { numRuns: 120 });
});

test.each<[string, Act, Act]>([
  ["a cluster", (world) => void world.makeCluster(), (world) => world.deleteCluster()],
  ["a claim", (world) => void world.makeClaim("restored-1"), (world) => world.deleteAll(CLAIMS)],
])("%s that was deleted but is still in a stale cache does not fail a restore", async (_, make, remove) => {
  const world = new RestoreWorld();
  make(world);
  world.show();
  remove(world);
  world.goOn();
  const look = operator(world);
  await look();
  await settle(world, look);
  expectKept(world, "in the end");
  expect(phaseOf(world)).toBe("Completed");
});
