import type { ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { unhandledOf } from "./unhandled.ts";

/** Result of a run of tests. */
export interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Failures: each has file, name, first line of the error and its place, or is a sentence. */
  readonly failures: readonly string[];
  /** Failures in parallel with other tests that passed alone, in the form of `failures`. */
  readonly unsteady: readonly string[];
  /** Result of each test file, with its duration. Setup and teardown of the level are not part of it. */
  readonly files: readonly FileCount[];
}

/** Result of a test file. An error outside of its tests counts as one failed test, unless one of them failed. */
export interface FileCount extends Took {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
  /** Whether an error happened outside of its tests, as in a hook: tests that depend on the hook are skipped. */
  readonly isAround: boolean;
}

/** A name and its duration in milliseconds. */
export interface Took {
  readonly name: string;
  readonly ms: number;
}

export const NONE: Count = { passed: 0, failed: 0, skipped: 0, failures: [], unsteady: [], files: [] };

/** Counts an error outside of tests as one failed test. @param sentence describes the error */
export function oneFailed(sentence: string): Count {
  return { ...NONE, failed: 1, failures: [sentence] };
}

export function sum(a: Count, b: Count): Count {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    failures: [...a.failures, ...b.failures],
    unsteady: [...a.unsteady, ...b.unsteady],
    files: [...a.files, ...b.files],
  };
}

/** Exit code of a program, once it has ended. @throws Error when the program does not start */
export function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

const UNHANDLED = join(import.meta.dirname, "unhandled.ts");

/** Runs vitest and reads its own report; a run that failed without a failed test counts as one failure. */
export async function counted(
  vitest: readonly string[],
  start: (argv: readonly string[]) => Promise<number>,
): Promise<Count> {
  const folder = await mkdtemp(join(tmpdir(), "vitest-"));
  const file = join(folder, "report.json");
  try {
    const reporters = ["default", "json", UNHANDLED].map((name) => `--reporter=${name}`);
    const code = await start([...vitest, ...reporters, `--outputFile.json=${file}`]);
    const read = async (name: string) => JSON.parse(await readFile(name, "utf8")) as unknown;
    const reports = await Promise.all([read(file), read(unhandledOf(file))]).catch(() => undefined);
    if (reports === undefined)
      return oneFailed(`vitest ended with exit code ${code} before it could write its report: ${vitest.join(" ")}`);
    const [report, unhandled] = reports as [VitestReport, readonly string[]];
    return countOf(report, code, unhandled);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Part of vitest's JSON report that is read here. */
export interface VitestReport {
  /** Times are milliseconds since 1970. */
  readonly testResults: readonly FileReport[];
}

interface FileReport {
  readonly name: string;
  readonly startTime: number;
  readonly endTime: number;
  /** `failed` also when only a hook failed: for a hook within a `describe` this is the only sign. */
  readonly status: string;
  /** Error outside of all tests of the file; often empty. */
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    /** `passed`, `failed`, or a word for a test that did not run. */
    readonly status: string;
    /** Error and stack of each attempt; null when the thrown value was no error. */
    readonly failureMessages?: readonly (string | null)[];
  }[];
}

/**
 * Counts the results in a report.
 * @param code exit code of vitest
 * @param unhandled uncaught errors: failures of their own, as their files are unknown
 */
export function countOf({ testResults }: VitestReport, code: number, unhandled: readonly string[] = []): Count {
  const files = testResults.map(countOfFile).map((file) => ({ ...NONE, ...file, files: [file] }));
  const around = unhandled.map((message) => oneFailed(`an uncaught error${because(message)}`));
  const count = [...files, ...around].reduce(sum, NONE);
  if (code > 1) return sum(count, oneFailed(`vitest ended with exit code ${code}`)); // The run was cut short.
  if (code === 0 || count.failed > 0) return count;
  return sum(count, oneFailed(`vitest ended with exit code ${code}, though no test failed`));
}

function countOfFile({ name, startTime, endTime, status, message, assertionResults }: FileReport): FileCount {
  const of = (what: string) => assertionResults.filter((each) => each.status === what);
  const [passed, failed] = [of("passed").length, of("failed")];
  const isAround = status === "failed" && (message !== "" || failed.length === 0);
  const [line = ""] = message.split("\n");
  return {
    name,
    ms: endTime - startTime,
    passed,
    failed: isAround ? Math.max(failed.length, 1) : failed.length,
    skipped: assertionResults.length - passed - failed.length,
    isAround,
    failures: [
      ...(isAround ? [`${name}: ${line === "" ? "a hook failed" : line}`] : []),
      ...failed.map(({ fullName, failureMessages = [] }) => `${name}: ${fullName}${because(failureMessages[0])}`),
    ],
  };
}

/**
 * How many characters of a long error the list of failures has. The start names a failed command, and the end has its
 * output. vitest's own output has all of it.
 */
const SHOWN = { start: 150, end: 250 };

/** A line of a stack with a TypeScript file. */
const THROWN_AT = /^ +at .*?([^/\s]+\.ts:\d+):\d+\)?$/;

/** Line with the seed of a failed property: https://fast-check.dev/docs/tutorials/quick-start/read-test-reports/ */
const SEED = /^\{ seed: /;

function because(thrown: string | null | undefined): string {
  const [first = "", ...stack] = stripVTControlCharacters(thrown ?? "").split("\n");
  if (first === "") return "";
  // Without the seed, the random case that failed is lost.
  const line = SEED.test(stack[0] ?? "") ? `${first} ${stack[0]}` : first;
  const own = stack
    .filter((each) => !each.includes("/node_modules/"))
    .flatMap((each) => THROWN_AT.exec(each)?.[1] ?? []);
  // The test's own line first, as many tests share a helper that throws.
  const at = own.find((each) => each.includes(".test.ts:")) ?? own[0];
  return ` – ${shortened(line)}${at === undefined ? "" : ` (${at})`}`;
}

function shortened(line: string): string {
  if (line.length <= SHOWN.start + SHOWN.end) return line;
  return `${line.slice(0, SHOWN.start)} … ${line.slice(-SHOWN.end)}`;
}
