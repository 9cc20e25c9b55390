import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// One project per level. unit: no process, no network. The others start real servers: those that share a Kubernetes run one after
// another; those that have servers of their own, and wait for leases and timeouts most of the time, run two by two.
const servers = { fileParallelism: false, testTimeout: 60_000, hookTimeout: 180_000 };
const twoByTwo = { fileParallelism: true, maxWorkers: 2 };
const clusters = { fileParallelism: false, maxConcurrency: 8, testTimeout: 300_000, hookTimeout: 900_000 };

/** It looks at what all others made the operator do. */
const LAST = "test/e2e/rights.test.ts";

class LastAtTheEnd extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLast = ({ moduleId }: TestSpecification): number => (moduleId.endsWith(LAST) ? 1 : 0);
    return (await super.sort(files)).sort((a, b) => isLast(a) - isLast(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LastAtTheEnd },
    projects: [
      {
        // A property tries hundreds of cases: seconds on a busy machine.
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "dev/**/*.test.ts", "test/unit/**/*.test.ts"],
          testTimeout: 30_000,
        },
      },
      { test: { name: "mutants", include: ["test/mutation/**/*.test.ts"] } },
      { test: { name: "apiserver", include: ["test/apiserver/**/*.test.ts"], ...servers, ...twoByTwo } },
      { test: { name: "etcd", include: ["test/etcd/**/*.test.ts"], ...servers, ...twoByTwo } },
      { test: { name: "stores", include: ["test/objectstore/**/*.test.ts"], ...servers, ...twoByTwo, maxWorkers: 4 } },
      { test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], ...clusters } },
      { test: { name: "long", include: ["test/long/**/*.test.ts"], ...clusters } },
    ],
  },
});
