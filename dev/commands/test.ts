import { argumentsOf } from "../command.ts";
import type { Count } from "../count.ts";
import { everything } from "../everything.ts";
import { Failure } from "../failure.ts";
import { LEVELS, type Level, LONG, runLevel } from "../levels.ts";
import { step } from "../progress.ts";
import { currentCommit, readChapters, sliceOf } from "../slice.ts";
import { levels, tested } from "../tested.ts";
import { tookLongest } from "../took-longest.ts";

const USAGE = `Tests, from fast to slow: ${LEVELS.join(", ")}.

  npm test                            runs the checks, and the tests to pass before you send a change; a quarter of an hour
  npm run test:rest                   runs all other tests but the long ones; half an hour
  npm run test:LEVEL                  runs one level, such as npm run test:unit
  npm run test:long                   runs the long tests: clients under load, bad days, an operator that dies after every
                                      write, all simulated histories and mutations; takes four hours
  npm run test:long -- --slice        runs about ten minutes of them; the commit's hash chooses which
  npm run test:e2e -- FILE -t NAME    runs files and tests by part of their name
  npm run test:e2e -- --keep          leaves the local Kubernetes of the tests running
                                      (npm run local -- down --instance test)`;

/** Runs the tests. @returns undefined when only the usage was printed */
async function main(argv: readonly string[]): Promise<Count | undefined> {
  const { values, positionals } = parse(argv);
  if (values.help) {
    console.log(USAGE);
    return undefined;
  }
  const [first, ...files] = positionals;
  const level = [...LEVELS, LONG].find((known) => known === first) as Level | undefined;
  if (first !== undefined && level === undefined) throw new Failure(`There is no level "${first}".\n\n${USAGE}`);
  if (values.t !== undefined && level === undefined)
    throw new Failure(`-t ${values.t} needs a level, such as npm run test:unit -- -t NAME.\n\n${USAGE}`);
  if (values.rest && level !== undefined) throw new Failure(`--rest is for all levels: npm run test:rest\n\n${USAGE}`);
  if (values.slice) files.push(...(await slice(level)));
  const filters = [...files, ...(values.t === undefined ? [] : ["-t", values.t])];
  if (level === undefined) return await everything(values.rest ? "rest" : "first", values.keep);
  return await tested(level, (root) => runLevel(root, level, { filters, keep: values.keep }, step));
}

function parse(argv: readonly string[]) {
  return argumentsOf(argv, USAGE, {
    allowPositionals: true,
    options: {
      keep: { type: "boolean", default: false },
      rest: { type: "boolean", default: false },
      slice: { type: "boolean", default: false },
      t: { type: "string", short: "t" },
      help: { type: "boolean", default: false },
    },
  });
}

/** @returns filters for the files of the slice; no filter matches another file */
async function slice(level: Level | undefined): Promise<string[]> {
  if (level !== LONG) throw new Failure(`--slice is only for the long tests: npm run test:long -- --slice\n\n${USAGE}`);
  const chapters = readChapters(process.cwd());
  const commit = await currentCommit(process.cwd());
  const chosen = sliceOf(chapters, commit);
  const minutes = chosen.reduce((sum, name) => sum + (chapters[name] ?? 0), 0);
  console.log(
    `The hash of commit ${commit.slice(0, 12)} chooses ${chosen.length} of ${Object.keys(chapters).length} chapters of the long tests, about ${minutes} minutes: ${chosen.join(", ")}`,
  );
  return chosen.map((name) => `test/long/${name}`);
}

function list(title: string, failures: readonly string[]): void {
  if (failures.length === 0) return;
  console.log(`\n  ${title}\n${failures.map((each) => `  ${each.replace(`${process.cwd()}/`, "")}`).join("\n")}`);
}

try {
  const count = await main(process.argv.slice(2));
  if (count !== undefined) {
    const { passed, failed, skipped, failures, unsteady, files } = count;
    console.log(`\n${tookLongest(process.cwd(), levels, files).join("\n")}`);
    // Once more at the end: parallel levels have printed their failures pages above.
    list("Failed", failures);
    list("Failed in parallel, passed alone", unsteady);
    console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
    process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
  }
} catch (thrown) {
  console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
  process.exitCode = 1;
}
