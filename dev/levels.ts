import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureAzurite } from "./azurite.ts";
import { ensureComponents } from "./components.ts";
import { deployOperator } from "./deploy.ts";
import { onInterrupt } from "./interrupted.ts";
import { Kubectl } from "./kubectl.ts";
import { down, up } from "./local/cluster.ts";
import { execInside } from "./local/exec.ts";
import type { Instance } from "./local/instance.ts";
import { loadArchive } from "./local/nodes.ts";
import { ensureOperatorImage } from "./operator-image.ts";
import type { Step } from "./progress.ts";
import { run } from "./run.ts";
import { ETCD_VERSIONS } from "./versions.ts";

/** From fastest to slowest. */
export const LEVELS = ["unit", "mutants", "apiserver", "etcd", "stores", "e2e"] as const;
/** What takes longer than people wait for all levels together: asked for by name only. */
export const LONG = "long";
export type Level = (typeof LEVELS)[number] | typeof LONG;

/** Tells tests, which run inside the instance's network, the mount namespace of the machine: nodes are started there. */
export const HOST_MOUNTS = "E2E_HOST_MOUNTS";

/** Tells the tests of the e2e level, when all of them are run, since when: milliseconds since 1970. */
export const WHOLE_LEVEL_SINCE = "E2E_WHOLE_LEVEL_SINCE";

/** A local Kubernetes of the tests' own, beside the demonstration's. Another name lets two people test side by side. */
export const TEST_INSTANCE = process.env.E2E_INSTANCE ?? "test";

export interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What each test file took, around its tests; without what prepares and takes down the level. */
  readonly files: readonly Took[];
}

/** A name and how long it took, in milliseconds. */
export interface Took {
  readonly name: string;
  readonly ms: number;
}

export interface LevelOptions {
  /** Passed on to vitest: file names, `-t NAME`. */
  readonly filters: readonly string[];
  /** Leave the local Kubernetes of the e2e level running. */
  readonly keep: boolean;
}

/** Prepares what the level needs, runs its tests, and leaves nothing running. */
export async function runLevel(root: string, level: Level, options: LevelOptions, step: Step): Promise<Count> {
  const vitest = [
    process.execPath,
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    "--project",
    level,
    ...options.filters,
  ];
  switch (level) {
    case "unit":
    case "mutants":
      return await counted(vitest, (argv) => ended(spawnHere(argv)));
    case "apiserver":
      await ensureComponents(["kube-apiserver", "etcd-3.6.16"], step);
      return await counted(vitest, (argv) => ended(spawnHere(argv)));
    case "etcd":
      await ensureComponents(["etcd-3.5.35", "etcd-3.6.16", "etcd-3.7.3"], step);
      await step("generated etcd API is fresh", () =>
        run(process.execPath, [join(root, "scripts/etcd-protos.ts"), "--check"]),
      );
      return await counted(vitest, (argv) => ended(spawnHere(argv)));
    case "stores":
      await ensureComponents(["versitygw", "fake-gcs-server"], step);
      await ensureAzurite(step);
      return await counted(vitest, (argv) => ended(spawnHere(argv)));
    case "e2e":
    case "long": {
      const isWhole = level === "e2e" && options.filters.length === 0;
      const env = {
        [HOST_MOUNTS]: `/proc/${process.pid}/ns/mnt`,
        ...(isWhole ? { [WHOLE_LEVEL_SINCE]: String(Date.now()) } : {}),
      };
      return await withTestInstance(root, options.keep, step, (instance) =>
        counted(vitest, (argv) => ended(execInside(instance, argv, { cwd: root, env }))),
      );
    }
  }
}

/** A local Kubernetes with the operator in it, for as long as `work` takes. */
export async function withTestInstance<T>(
  root: string,
  keep: boolean,
  step: Step,
  work: (instance: Instance) => Promise<T>,
  name = TEST_INSTANCE,
): Promise<T> {
  // Who stops the tests in the middle should not find a Kubernetes left over.
  using _ = onInterrupt(() => down(name, false, step));
  try {
    const instance = await up(name, undefined, step, ETCD_VERSIONS);
    const image = await ensureOperatorImage(root, step);
    await loadArchive(name, image.file, step);
    const { kubectl } = await ensureComponents(["kubectl"], step);
    await deployOperator(new Kubectl(kubectl, instance.kubeconfig), image.name, step);
    return await work(instance);
  } finally {
    if (!keep) await down(name, false, step);
  }
}

function spawnHere(argv: readonly string[]) {
  const [program = "", ...args] = argv;
  return spawn(program, args, { stdio: "inherit" });
}

function ended(child: ReturnType<typeof spawn>): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

/** Runs vitest and reads its own report; a run that failed without a failed test counts as one failure. */
async function counted(vitest: readonly string[], start: (argv: readonly string[]) => Promise<number>): Promise<Count> {
  const folder = await mkdtemp(join(tmpdir(), "vitest-"));
  const file = join(folder, "report.json");
  try {
    const code = await start([...vitest, "--reporter=default", "--reporter=json", `--outputFile.json=${file}`]);
    const report = await readFile(file, "utf8").catch(() => undefined); // vitest died before it could write one
    if (report === undefined) return { passed: 0, failed: 1, skipped: 0, files: [] };
    return countOf(JSON.parse(report) as VitestReport, code);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** What is read of vitest's JSON report. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  /** Times are milliseconds since 1970. */
  readonly testResults: readonly { readonly name: string; readonly startTime: number; readonly endTime: number }[];
}

/** @param code exit code of vitest */
export function countOf(report: VitestReport, code: number): Count {
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = report;
  return {
    passed: numPassedTests,
    failed: numFailedTests === 0 && code !== 0 ? 1 : numFailedTests,
    skipped: numPendingTests + numTodoTests,
    files: testResults.map(({ name, startTime, endTime }) => ({ name, ms: endTime - startTime })),
  };
}
