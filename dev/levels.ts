import { spawn } from "node:child_process";
import { join } from "node:path";
import { ensureAzurite } from "./azurite.ts";
import type { Beside } from "./beside.ts";
import { ensureComponents } from "./components.ts";
import { type Count, counted, ended } from "./count.ts";
import { deployOperator } from "./deploy.ts";
import { onInterrupt } from "./interrupted.ts";
import { Kubectl } from "./kubectl.ts";
import { buildAll, down, up } from "./local/cluster.ts";
import { execInside } from "./local/exec.ts";
import type { Instance } from "./local/instance.ts";
import { loadArchive } from "./local/nodes.ts";
import { ensureOperatorImage } from "./operator-image.ts";
import { type Step, silentStep } from "./progress.ts";
import type { ComponentName } from "./recipes.ts";
import { run } from "./run.ts";
import { type Build, buildsFor } from "./slice.ts";
import { ETCD_VERSIONS } from "./versions.ts";

/** From fastest to slowest. */
export const LEVELS = ["unit", "simulation", "mutants", "apiserver", "etcd", "stores", "e2e"] as const;
/** Levels that only compute, and need nothing that is built: those that take longest first. */
export const COMPUTING = ["unit", "simulation", "mutants"] as const;
/** Levels with servers of their own, for which they mostly wait. */
export const SERVERS = ["etcd", "stores", "apiserver"] as const;
/** What takes longer than people wait for all levels together: asked for by name only. */
export const LONG = "long";
export type Level = (typeof LEVELS)[number] | typeof LONG;

/** Tells tests, which run inside the instance's network, the mount namespace of the machine: nodes are started there. */
export const HOST_MOUNTS = "E2E_HOST_MOUNTS";

/** Tells the tests of the e2e level, when all of them are run, since when: milliseconds since 1970. */
export const WHOLE_LEVEL_SINCE = "E2E_WHOLE_LEVEL_SINCE";

/** A local Kubernetes of the tests' own, beside the demonstration's. Another name lets two people test side by side. */
export const TEST_INSTANCE = process.env.E2E_INSTANCE ?? "test";

/** What tests of the e2e level start besides Kubernetes. It is built before: where they run, nothing can be downloaded. */
export const E2E_COMPONENTS: readonly ComponentName[] = ["versitygw"];

export interface LevelOptions {
  /** Passed on to vitest: file names, `-t NAME`. */
  readonly filters: readonly string[];
  /** Leave the local Kubernetes of the e2e level running. */
  readonly keep: boolean;
  /** Called when all that the level needs has been built. */
  readonly onBuilt?: () => void;
}

/** Prepares what the level needs, runs its tests, and leaves nothing running. */
export async function runLevel(root: string, level: Level, options: LevelOptions, step: Step): Promise<Count> {
  const vitest = vitestOf(root, level, options.filters);
  await build(root, level, step);
  if (level === LONG) await ensureBuilds(buildsFor(root, options.filters), step);
  options.onBuilt?.();
  if (level === "e2e" || level === "long") {
    const isWhole = level === "e2e" && options.filters.length === 0;
    const env = {
      [HOST_MOUNTS]: `/proc/${process.pid}/ns/mnt`,
      ...(isWhole ? { [WHOLE_LEVEL_SINCE]: String(Date.now()) } : {}),
    };
    return await withTestInstance(root, options.keep, step, (instance) =>
      counted(vitest, (argv) => ended(execInside(instance, argv, { cwd: root, env }))),
    );
  }
  return await counted(vitest, (argv) => ended(spawnHere(argv)));
}

/** Prepares what the level needs, and runs its tests, beside others. @param tell is given all that they say, at their end */
export async function runBeside(
  root: string,
  level: Exclude<Level, "e2e" | "long">,
  beside: Beside,
  tell: (text: string) => void,
): Promise<Count> {
  await build(root, level, silentStep);
  return await counted(vitestOf(root, level, []), async (argv) => {
    const { code, text } = await beside.run(argv);
    tell(text);
    return code;
  });
}

function vitestOf(root: string, level: Level, filters: readonly string[]): string[] {
  const projects = (level === "e2e" ? ["e2e-users", "e2e"] : [level]).flatMap((name) => ["--project", name]);
  return [process.execPath, join(root, "node_modules/vitest/vitest.mjs"), "run", ...projects, ...filters];
}

/** Builds what the level needs, unless it is there, and sees that what is generated for it is fresh. */
async function build(root: string, level: Level, step: Step): Promise<void> {
  switch (level) {
    case "unit":
    case "simulation":
    case "mutants":
      return;
    case "apiserver":
      await ensureComponents(["kube-apiserver", "etcd-3.6.16"], step);
      return;
    case "etcd":
      await ensureComponents(["etcd-3.5.35", "etcd-3.6.16", "etcd-3.7.3"], step);
      await step("generated etcd API is fresh", () =>
        run(process.execPath, [join(root, "scripts/etcd-protos.ts"), "--check"]),
      );
      return;
    case "stores":
      await ensureComponents(["versitygw", "fake-gcs-server"], step);
      await ensureAzurite(step);
      return;
    case "e2e":
      await buildAll(step, ETCD_VERSIONS);
      await ensureComponents(E2E_COMPONENTS, step);
      return;
    case "long":
      await buildAll(step, ETCD_VERSIONS);
  }
}

async function ensureBuilds(builds: readonly Build[], step: Step): Promise<void> {
  const components = builds.filter((each) => each !== "azurite");
  await ensureComponents(components, step);
  if (components.length < builds.length) await ensureAzurite(step);
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
