import type { ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** What became of tests. */
export interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What failed, each by its file, its name and the first line of why, or in a sentence. */
  readonly failures: readonly string[];
  /** What failed beside others and passed when it was told alone, like `failures`. */
  readonly unsteady: readonly string[];
  /** What became of each test file, and what it took around its tests; without what prepares and takes down the level. */
  readonly files: readonly FileCount[];
}

/** What became of the tests of a file. What went wrong around them counts as one that failed, unless one of them did. */
export interface FileCount extends Took {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
}

/** A name and how long it took, in milliseconds. */
export interface Took {
  readonly name: string;
  readonly ms: number;
}

export const NONE: Count = { passed: 0, failed: 0, skipped: 0, failures: [], unsteady: [], files: [] };

/** What goes wrong around tests counts as one that failed. @param sentence what went wrong */
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

/** The exit code of a program. @throws Error when it does not start */
export function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

/** Runs vitest and reads its own report; a run that failed without a failed test counts as one failure. */
export async function counted(
  vitest: readonly string[],
  start: (argv: readonly string[]) => Promise<number>,
): Promise<Count> {
  const folder = await mkdtemp(join(tmpdir(), "vitest-"));
  const file = join(folder, "report.json");
  try {
    const code = await start([...vitest, "--reporter=default", "--reporter=json", `--outputFile.json=${file}`]);
    const report = await readFile(file, "utf8").catch(() => undefined); // vitest died before it could write one
    if (report === undefined) return oneFailed(`vitest ended with ${code} before it could report: ${vitest.join(" ")}`);
    return countOf(JSON.parse(report) as VitestReport, code);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** What is read of vitest's JSON report. */
export interface VitestReport {
  /** Times are milliseconds since 1970. */
  readonly testResults: readonly FileReport[];
}

interface FileReport {
  readonly name: string;
  readonly startTime: number;
  readonly endTime: number;
  /** What went wrong around the file's tests. */
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    /** `passed`, `failed`, or a word for not having run */
    readonly status: string;
    /** One for each time that it was tried; each begins with what was thrown, and is null where that was no error. */
    readonly failureMessages?: readonly (string | null)[];
  }[];
}

/** @param code exit code of vitest */
export function countOf({ testResults }: VitestReport, code: number): Count {
  const count = testResults.map(countOfFile).reduce((all, file) => sum(all, { ...NONE, ...file, files: [file] }), NONE);
  if (code === 0 || count.failed > 0) return count;
  return sum(count, oneFailed(`vitest ended with ${code}, though no test failed`));
}

function countOfFile({ name, startTime, endTime, message, assertionResults }: FileReport): FileCount {
  const of = (status: string) => assertionResults.filter((each) => each.status === status);
  const [passed, failed] = [of("passed").length, of("failed")];
  return {
    name,
    ms: endTime - startTime,
    passed,
    failed: message === "" ? failed.length : Math.max(failed.length, 1),
    skipped: assertionResults.length - passed - failed.length,
    failures: [
      ...(message === "" ? [] : [`${name}: ${message.split("\n")[0]}`]),
      ...failed.map(({ fullName, failureMessages = [] }) => `${name}: ${fullName}${because(failureMessages[0])}`),
    ],
  };
}

/** So much of what was thrown is said where failures are listed, in characters. All of it stands where the test ran. */
const MAX_WHY_LENGTH = 300;

function because(thrown: string | null | undefined): string {
  const [line = ""] = stripVTControlCharacters(thrown ?? "").split("\n");
  return line === "" ? "" : ` – ${line.slice(0, MAX_WHY_LENGTH)}`;
}
