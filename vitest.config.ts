import { defineConfig } from "vitest/config";

// One project per level. unit: no process, no network. The others start real servers, so their files run one after another; those
// that wait for etcd's timeouts most of the time run two by two.
const servers = { fileParallelism: false, testTimeout: 60_000, hookTimeout: 180_000 };
const clusters = { fileParallelism: false, maxConcurrency: 8, testTimeout: 300_000, hookTimeout: 900_000 };

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts", "dev/**/*.test.ts", "test/unit/**/*.test.ts"] } },
      { test: { name: "mutants", include: ["test/mutation/**/*.test.ts"] } },
      { test: { name: "apiserver", include: ["test/apiserver/**/*.test.ts"], ...servers } },
      { test: { name: "etcd", include: ["test/etcd/**/*.test.ts"], ...servers, fileParallelism: true, maxWorkers: 2 } },
      { test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], ...clusters } },
      { test: { name: "long", include: ["test/long/**/*.test.ts"], ...clusters } },
    ],
  },
});
