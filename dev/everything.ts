import { getPriority } from "node:os";
import { againAlone } from "./alone.ts";
import { Beside } from "./beside.ts";
import { runChecks } from "./checks.ts";
import { type Count, NONE, oneFailed, sum } from "./count.ts";
import { COMPUTING, type Level, runBeside, runLevel, SERVERS } from "./levels.ts";
import { HISTORIES, partOf } from "./part.ts";
import { step } from "./progress.ts";
import { type Quiet, sideBySide } from "./side-by-side.ts";
import { currentCommit } from "./slice.ts";
import { holds, levels, tested } from "./tested.ts";

/** Has levels that compute tell a part, chosen by the commit, unless somebody has chosen. A work tree without commits tells the first one. */
async function choosePart(): Promise<void> {
  const commit = await currentCommit(process.cwd()).catch(() => "0".repeat(40));
  const part = partOf(commit);
  const { env } = process;
  if (env.SIMULATION_HISTORIES === undefined && env.SIMULATION_FIRST_SEED === undefined)
    env.SIMULATION_WINDOW ??= String(part.firstSeed);
  env.SIMULATION_HISTORIES ??= String(HISTORIES);
  env.MUTATION_PART ??= part.mutations;
  console.log(
    `commit ${commit.slice(0, 12)} tells ${env.SIMULATION_HISTORIES} simulated histories from seed ${env.SIMULATION_WINDOW ?? env.SIMULATION_FIRST_SEED ?? 1} on, and tries part ${env.MUTATION_PART} of the mutations`,
  );
}

/** The checks and every level. @param keep leave the local Kubernetes of the e2e level running */
export async function everything(keep: boolean): Promise<Count> {
  const sinceMs = performance.now();
  const checked = await holds(() => runChecks(process.cwd(), step));
  levels.push({ name: "checks", ms: performance.now() - sinceMs });
  await choosePart();
  const [ordinary, lowest] = [new Beside(getPriority()), new Beside()];
  const count = await sideBySide(
    {
      shown: (onBuilt) => tested("e2e", (root) => runLevel(root, "e2e", { filters: [], keep, onBuilt }, step)),
      waiting: SERVERS.map((level) => besideOthers(level, ordinary)),
      computing: COMPUTING.map((level) => besideOthers(level, lowest)),
    },
    lowest,
    (text) => process.stdout.write(text),
    step,
  );
  levels.push({ name: "all of it, side by side", ms: performance.now() - sinceMs });
  const steady = await againAlone(process.cwd(), count, (level, files) =>
    tested(level, (root) => runLevel(root, level, { filters: files, keep }, step)),
  );
  return sum(checked ? NONE : oneFailed("the checks: see the beginning"), steady);
}

function besideOthers(level: Exclude<Level, "e2e" | "long">, beside: Beside): Quiet {
  return (tell) =>
    tested(level, (root) =>
      runBeside(root, level, beside, (text) => tell(`\nTold beside the others: ${level}\n${text}`)),
    );
}
