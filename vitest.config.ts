import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// A project per level. The levels unit, simulation and mutants start no server. Levels with servers of their own wait
// for leases and timeouts most of the time, so their files run in parallel. Files that share a Kubernetes run one after
// another, unless they use only namespaces of their own.
const servers = { fileParallelism: false, testTimeout: 180_000, hookTimeout: 300_000 };
const twoByTwo = { fileParallelism: true, maxWorkers: 2 };
const clusters = { fileParallelism: false, maxConcurrency: 8, testTimeout: 600_000, hookTimeout: 900_000 };

/** They touch no node and no operator, and bear that others do: each is a user of Kubernetes among others. */
const USERS = [
  "auth",
  "backup",
  "brought-secrets",
  "evictions",
  "metrics",
  "monitoring",
  "network-policy",
  "pages",
  "plugin",
  "point-in-time",
  "refusals",
  "restore",
  "schedule",
  "tls",
  "tls-switch",
  "users",
].map((name) => `test/e2e/${name}.test.ts`);

/** Compares rights with the requests that all other files caused. */
const LAST = "test/e2e/rights.test.ts";

class LastAtTheEnd extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLast = ({ moduleId }: TestSpecification): number => (moduleId.endsWith(LAST) ? 1 : 0);
    return (await super.sort(files)).sort((a, b) => isLast(a) - isLast(b));
  }
}

/**
 * A property tries hundreds of cases in ten seconds of processor time. Next to levels with priority that takes minutes.
 * The timeout ends only what hangs. All processors are used: by default vitest leaves one free, which is half of two.
 */
const computes = { testTimeout: 1_800_000, maxWorkers: "100%" };

/** Node runs the files as they are: with every import rewritten, what only computes takes half as long again. */
const asTheyAre = { experimental: { viteModuleRunner: false, nodeLoader: false } };

export default defineConfig({
  test: {
    sequence: { sequencer: LastAtTheEnd },
    projects: [
      {
        test: {
          name: "unit",
          taskTitleValueFormatTruncate: 0, // Whole names: vitest cuts each inserted value at 40 characters.
          include: ["src/**/*.test.ts", "dev/**/*.test.ts", "test/unit/**/*.test.ts"],
          isolate: false, // What is tested keeps nothing in modules. Loading all modules again for each of hundreds of files took half of the processor time.
          ...computes,
        },
      },
      { test: { name: "simulation", include: ["test/simulation/**/*.test.ts"], ...computes, ...asTheyAre } },
      { test: { name: "mutants", include: ["test/mutation/**/*.test.ts"], maxWorkers: "100%" } },
      // What an input costs is measured beside other work, which can only add to it: the best of three counts.
      { test: { name: "hostile", include: ["test/hostile/**/*.test.ts"], ...servers, ...twoByTwo, retry: 2 } },
      { test: { name: "apiserver", include: ["test/apiserver/**/*.test.ts"], ...servers, ...twoByTwo } },
      { test: { name: "etcd", include: ["test/etcd/**/*.test.ts"], ...servers, ...twoByTwo, maxWorkers: 3 } },
      { test: { name: "stores", include: ["test/objectstore/**/*.test.ts"], ...servers, ...twoByTwo, maxWorkers: 4 } },
      { test: { name: "e2e-users", include: USERS, ...clusters, ...twoByTwo, sequence: { groupOrder: 0 } } },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          exclude: USERS,
          ...clusters,
          sequence: { groupOrder: 1 },
        },
      },
      { test: { name: "long", include: ["test/long/**/*.test.ts"], ...clusters } },
    ],
  },
});
