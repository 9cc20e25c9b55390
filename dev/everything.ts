import { getPriority } from "node:os";
import { againAlone } from "./alone.ts";
import { Beside } from "./beside.ts";
import { runChecks } from "./checks.ts";
import { type Count, NONE, oneFailed, sum } from "./count.ts";
import { COMPUTING, type Level, runBeside, runLevel, SERVERS } from "./levels.ts";
import { HISTORIES, partOf } from "./part.ts";
import { step } from "./progress.ts";
import { filesIn, levelsIn, type Share } from "./share.ts";
import { type Quiet, sideBySide } from "./side-by-side.ts";
import { currentCommit } from "./slice.ts";
import { holds, levels, tested } from "./tested.ts";

/**
 * Chooses by the commit's hash which part of their work the computing levels do, unless the environment names it. A
 * work tree without commits does the first part.
 */
async function choosePart(): Promise<void> {
  const commit = await currentCommit(process.cwd()).catch(() => "0".repeat(40));
  const part = partOf(commit);
  const { env } = process;
  if (env.SIMULATION_HISTORIES === undefined && env.SIMULATION_FIRST_SEED === undefined)
    env.SIMULATION_WINDOW ??= String(part.firstSeed);
  env.SIMULATION_HISTORIES ??= String(HISTORIES);
  env.MUTATION_PART ??= part.mutations;
  console.log(
    `The hash of commit ${commit.slice(0, 12)} chooses ${env.SIMULATION_HISTORIES} simulated histories from seed ${env.SIMULATION_WINDOW ?? env.SIMULATION_FIRST_SEED ?? 1} on, and part ${env.MUTATION_PART} of the mutations.`,
  );
}

/** Runs the checks, unless it is the rest, and all tests of a share. @param keep leave the local Kubernetes of the e2e level running */
export async function everything(share: Share, keep: boolean): Promise<Count> {
  const root = process.cwd();
  const sinceMs = performance.now();
  const checked = share === "rest" || (await holds(() => runChecks(root, step)));
  if (share === "first") levels.push({ name: "checks", ms: performance.now() - sinceMs });
  await choosePart();
  const [ordinary, lowest] = [new Beside(getPriority()), new Beside()];
  const included = levelsIn(root, share);
  const filters = filesIn(root, "e2e", share) ?? [];
  const count = await sideBySide(
    {
      shown: (onBuilt) =>
        tested("e2e", () => runLevel(root, "e2e", { filters, keep, onBuilt, useEveryRight: share === "rest" }, step)),
      waiting: SERVERS.filter((level) => included.includes(level)).map((level) => besideOthers(share, level, ordinary)),
      computing: COMPUTING.filter((level) => included.includes(level)).map((level) =>
        besideOthers(share, level, lowest),
      ),
    },
    lowest,
    (text) => process.stdout.write(text),
    step,
  );
  levels.push({ name: "all levels, in parallel", ms: performance.now() - sinceMs });
  const steady = await againAlone(root, count, (level, files) =>
    tested(level, () => runLevel(root, level, { filters: files, keep }, step)),
  );
  return sum(checked ? NONE : oneFailed("checks: see the first lines of the output"), steady);
}

function besideOthers(share: Share, level: Exclude<Level, "e2e" | "long">, beside: Beside): Quiet {
  return (tell) =>
    tested(level, (root) =>
      runBeside(root, level, filesIn(root, level, share) ?? [], beside, (text) =>
        tell(`\nRan in parallel: ${level}\n${text}`),
      ),
    );
}
