import { parseArgs } from "node:util";
import { runChecks } from "../checks.ts";
import { Failure } from "../failure.ts";
import { type Count, LEVELS, type Level, LONG, runLevel, type Took } from "../levels.ts";
import { step } from "../progress.ts";
import { currentCommit, readChapters, sliceOf } from "../slice.ts";
import { tookLongest } from "../took-longest.ts";

const USAGE = `Tests, from fast to slow: ${LEVELS.join(", ")}.

  npm test                            checks and every level
  npm run test:unit                   one level; likewise test:apiserver, test:etcd, test:stores, test:e2e
  npm run test:long                   clients under load, bad days, an operator that dies after every write; an hour and a half
  npm run test:long -- --slice        about fifteen minutes of it; the commit chooses which
  npm run test:e2e -- FILE -t NAME    files and tests by part of their name
  npm run test:e2e -- --keep          leave the local Kubernetes of the tests running (npm run local -- down --instance test)`;

/** What each level took, its preparations included. */
const levels: Took[] = [];

/** @returns undefined when nothing was to be tested */
async function main(argv: readonly string[]): Promise<Count | undefined> {
  const { values, positionals } = parse(argv);
  if (values.help) {
    console.log(USAGE);
    return undefined;
  }
  const [first, ...files] = positionals;
  const level = [...LEVELS, LONG].find((known) => known === first) as Level | undefined;
  if (first !== undefined && level === undefined) throw new Failure(`there is no level "${first}"\n\n${USAGE}`);
  if (values.t !== undefined && level === undefined)
    throw new Failure(
      `-t ${values.t}: name the level that the test belongs to: npm run test:unit -- -t NAME\n\n${USAGE}`,
    );
  if (values.slice) files.push(...(await slice(level)));
  const filters = [...files, ...(values.t === undefined ? [] : ["-t", values.t])];
  return level === undefined ? await everything(values.keep) : await tested(level, filters, values.keep);
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        keep: { type: "boolean", default: false },
        slice: { type: "boolean", default: false },
        t: { type: "string", short: "t" },
        help: { type: "boolean", default: false },
      },
    });
  } catch (thrown) {
    throw new Failure(`${thrown instanceof Error ? thrown.message : thrown}\n\n${USAGE}`);
  }
}

/** @returns names of test files that no other file's name contains */
async function slice(level: Level | undefined): Promise<string[]> {
  if (level !== LONG) throw new Failure(`--slice is for the long tests: npm run test:long -- --slice\n\n${USAGE}`);
  const chapters = readChapters(process.cwd());
  const commit = await currentCommit(process.cwd());
  const chosen = sliceOf(chapters, commit);
  const minutes = chosen.reduce((sum, name) => sum + (chapters[name] ?? 0), 0);
  console.log(
    `commit ${commit.slice(0, 12)} tells ${chosen.length} of ${Object.keys(chapters).length} chapters of the long tests, about ${minutes} minutes: ${chosen.join(", ")}`,
  );
  return chosen.map((name) => `test/long/${name}`);
}

/** How many simulated histories are told when everything is tested; `npm run test:unit` alone tells fewer, to be quick. */
const HISTORIES = "5000";

async function everything(keep: boolean): Promise<Count> {
  process.env.SIMULATION_HISTORIES ??= HISTORIES;
  const sinceMs = performance.now();
  let total: Count = (await holds(() => runChecks(process.cwd(), step))) ? NONE : { ...NONE, failed: 1 };
  levels.push({ name: "checks", ms: performance.now() - sinceMs });
  for (const level of LEVELS) total = sum(total, await tested(level, [], keep));
  return total;
}

const NONE: Count = { passed: 0, failed: 0, skipped: 0, files: [] };

function sum(a: Count, b: Count): Count {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    files: [...a.files, ...b.files],
  };
}

/** One level; what goes wrong around its tests counts as one failure, and the next level still runs. */
async function tested(level: Level, filters: readonly string[], keep: boolean): Promise<Count> {
  const sinceMs = performance.now();
  let count: Count = { ...NONE, failed: 1 };
  await holds(async () => {
    count = await runLevel(process.cwd(), level, { filters, keep }, step);
  });
  levels.push({ name: level, ms: performance.now() - sinceMs });
  return count;
}

async function holds(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (thrown) {
    // A Failure says all that helps; anything else is a defect of ours, and its stack is wanted.
    console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
    return false;
  }
}

try {
  const count = await main(process.argv.slice(2));
  if (count !== undefined) {
    const { passed, failed, skipped, files } = count;
    console.log(`\n${tookLongest(process.cwd(), levels, files).join("\n")}`);
    console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
    process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
  }
} catch (thrown) {
  console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
  process.exitCode = 1;
}
