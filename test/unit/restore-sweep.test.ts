import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import type { Fault } from "#kit/fallible-api.ts";
import { formCluster } from "#kit/restore-cluster.ts";
import { type Course, operator, phaseOf, reasonOf, settle, tell } from "#kit/restore-course.ts";
import { wrongEnd } from "#kit/restore-promises.ts";
import { SCENARIOS } from "#kit/restore-scenarios.ts";
import { CLAIMS, CLUSTERS, RESTORES, RestoreWorld } from "#kit/restore-world.ts";
import { JOBS, PODS } from "#kube/kinds.ts";

// The operator dies before and after every single write of a restore, or does not hear that it was made, and others make and delete what they
// like at every moment: no claim is ever touched that is somebody else's, or a cluster's; what is handed over is whole; and what is over leaves nothing behind.

function expectKept(world: RestoreWorld, what: string): void {
  expect([...world.wrong, ...wrongEnd(world)], what).toEqual([]);
}

describe("an operator that dies at any of its writes, or does not hear of one, comes to the same end:", () => {
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

/** What others may do at any moment, and how the restore may end then. */
const OTHERS: readonly { readonly who: string; readonly act: Act; readonly ends: readonly string[] }[] = [
  { who: "makes an EtcdCluster", act: (world) => void world.makeCluster(), ends: ["Completed Completed", "Failed ClusterExists"] },
  { who: "makes an EtcdCluster that begins at once", act: (world) => formCluster(world.makeCluster() && world), ends: ["Completed Completed", "Failed ClusterExists"] },
  { who: "makes a claim of a member", act: (world) => void world.makeClaim("restored-1"), ends: ["Completed Completed", "Failed ClaimExists"] },
  // A cluster that finds claims of two does not guess, and a person decides.
  { who: "makes a claim of the cluster", act: (world) => void world.makeClaim("restored-7"), ends: ["Completed Completed", "Failed ClaimExists", "Pending StartingCluster"] },
  { who: "deletes a claim", act: (world) => world.remove(CLAIMS, "restored-1"), ends: ["Completed Completed", "Failed ClaimLost"] },
  { who: "deletes all claims", act: (world) => world.deleteAll(CLAIMS), ends: ["Completed Completed", "Failed ClaimLost"] },
  { who: "deletes the EtcdRestore", act: (world) => world.remove(RESTORES, "back"), ends: ["gone"] },
  { who: "deletes the Jobs", act: (world) => world.deleteAll(JOBS.plural), ends: ["Completed Completed"] },
  { who: "deletes the EtcdCluster", act: (world) => world.deleteCluster(), ends: ["Completed Completed", "gone"] },
  { who: "deletes the EtcdBackup", act: (world) => world.remove(ETCD_BACKUPS.plural, "nightly"), ends: ["Completed Completed", "Failed BackupNotFound"] },
  { who: "silences a claim", act: (world) => world.silence("restored-1"), ends: ["Completed Completed"] },
]; // biome-ignore format: a table

/** What somebody else may see, and what nobody may see but who acts between two requests of the operator: each once. */
async function momentsOf(given: Course["given"]): Promise<readonly number[]> {
  const { seen } = await tell({ given });
  const isQuiet = (n: number) => seen[n]?.is === "look" && seen[n + 1]?.is === "look";
  return seen.flatMap((each, n) => (isQuiet(n) && seen[n - 1]?.version === each.version ? [] : [n + 1]));
}

describe("whatever somebody else does, and when, no promise is broken:", () => {
  test.each(OTHERS)("who $who", async ({ act, ends }) => {
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

test("with caches that are behind, each by itself, no promise is broken either", async () => {
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
])("%s that only a cache still shows fails no restore", async (_, make, remove) => {
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
