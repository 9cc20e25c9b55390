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
import { ensureBrowser } from "./packages.ts";
import { pinnedBase } from "./pinned/base.ts";
import { type Step, silentStep } from "./progress.ts";
import type { ComponentName } from "./recipes.ts";
import { run } from "./run.ts";
import { ensureSitePackages } from "./site.ts";
import { type Build, buildsFor } from "./slice.ts";
import { ETCD_VERSIONS } from "./versions.ts";

/** Levels from fastest to slowest. */
export const LEVELS = ["unit", "simulation", "mutants", "hostile", "apiserver", "etcd", "stores", "e2e"] as const;
/** Levels that only compute and need no built components, slowest first. */
export const COMPUTING = ["unit", "simulation", "mutants"] as const;
/** Levels with their own servers, which mostly wait for them. */
export const SERVERS = ["etcd", "hostile", "stores", "apiserver"] as const;
/** Level of the long tests, which take hours and run only when named. */
export const LONG = "long";
export type Level = (typeof LEVELS)[number] | typeof LONG;

/**
 * Environment variable with the machine's mount namespace, for tests inside the instance's network: they start nodes in
 * it.
 */
export const HOST_MOUNTS = "E2E_HOST_MOUNTS";

/**
 * Environment variable with the start of the e2e level, in milliseconds since 1970. It is set when the files use every
 * right of the operator: all files, or those of the rest (share.ts).
 */
export const RIGHTS_SINCE = "E2E_RIGHTS_SINCE";

/**
 * Name of the tests' own local Kubernetes, apart from the demonstration's. With different names two test runs can share
 * a machine.
 */
export const TEST_INSTANCE = process.env.E2E_INSTANCE ?? "test";

/**
 * Components that e2e tests start themselves. They are built before, as nothing can be downloaded inside the network.
 */
export const E2E_COMPONENTS: readonly ComponentName[] = ["prometheus", "versitygw"];

export interface LevelOptions {
  /** Arguments for vitest: file names, `-t NAME`. */
  readonly filters: readonly string[];
  /** Leave the local Kubernetes of the e2e level running. */
  readonly keep: boolean;
  /** The chosen files of the e2e level use every right of the operator. Default: when no file is named. */
  readonly useEveryRight?: boolean;
  /** Called when all components of the level have been built. */
  readonly onBuilt?: () => void;
}

/** Prepares the level, runs its tests, and leaves nothing running. */
export async function runLevel(root: string, level: Level, options: LevelOptions, step: Step): Promise<Count> {
  const vitest = vitestOf(root, level, options.filters);
  await build(root, level, step);
  if (level === LONG) await ensureBuilds(buildsFor(root, options.filters), step);
  options.onBuilt?.();
  if (level === "e2e" || level === "long") {
    const { filters, useEveryRight = level === "e2e" && filters.length === 0 } = options;
    const env = {
      [HOST_MOUNTS]: `/proc/${process.pid}/ns/mnt`,
      ...(useEveryRight ? { [RIGHTS_SINCE]: String(Date.now()) } : {}),
    };
    return await withTestInstance(root, options.keep, step, (instance) =>
      counted(vitest, (argv) => ended(execInside(instance, argv, { cwd: root, env }))),
    );
  }
  return await counted(vitest, (argv) => ended(spawnHere(argv)));
}

/** Prepares the level, and runs its tests in parallel with others. @param tell receives all their output at the end */
export async function runBeside(
  root: string,
  level: Exclude<Level, "e2e" | "long">,
  filters: readonly string[],
  beside: Beside,
  tell: (text: string) => void,
): Promise<Count> {
  await build(root, level, silentStep);
  return await counted(vitestOf(root, level, filters), async (argv) => {
    const { code, text } = await beside.run(argv);
    tell(text);
    return code;
  });
}

function vitestOf(root: string, level: Level, filters: readonly string[]): string[] {
  const projects = (level === "e2e" ? ["e2e-users", "e2e"] : [level]).flatMap((name) => ["--project", name]);
  return [process.execPath, join(root, "node_modules/vitest/vitest.mjs"), "run", ...projects, ...filters];
}

/** Builds the missing components of the level, and checks that its generated files are fresh. */
async function build(root: string, level: Level, step: Step): Promise<void> {
  switch (level) {
    case "unit":
    case "simulation":
    case "mutants":
      return;
    case "apiserver":
      await ensureComponents(["kube-apiserver", "etcd-3.6.16", "typed-client", "helm", "helm-3"], step);
      return;
    case "hostile":
      await ensureComponents(["kube-apiserver", "etcd-3.6.16"], step);
      return;
    case "etcd":
      await ensureComponents(["etcd-3.5.35", "etcd-3.6.16", "etcd-3.7.3", "prometheus"], step);
      await step("generated etcd API is fresh", () =>
        run(process.execPath, [join(root, "scripts/etcd-protos.ts"), "--check"]),
      );
      return;
    case "stores":
      await ensureComponents(["versitygw", "fake-gcs-server", "registry", "oras"], step);
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
  await ensureComponents(
    builds.filter((each) => each !== "azurite" && each !== "pinned-base" && each !== "site"),
    step,
  );
  if (builds.includes("azurite")) await ensureAzurite(step);
  if (builds.includes("pinned-base"))
    await step("Node and libraries of a release", async (note) => {
      for (const architecture of ["amd64", "arm64"] as const) await pinnedBase(process.cwd(), architecture, note);
    });
  if (builds.includes("site")) {
    await ensureSitePackages(step);
    await ensureBrowser(step);
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
  // Interrupted tests must not leave a Kubernetes behind.
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
