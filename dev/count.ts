import type { ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { unhandledOf } from "./unhandled.ts";

/** What became of tests. */
export interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What failed, each by its file, its name, the first line of why and where that was thrown, or in a sentence. */
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
  /** Whether something around its tests went wrong: tests that it prepared for are skipped. */
  readonly isAround: boolean;
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
      return oneFailed(`vitest ended with ${code} before it could report: ${vitest.join(" ")}`);
    const [report, unhandled] = reports as [VitestReport, readonly string[]];
    return countOf(report, code, unhandled);
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
  /** `failed` also when only something around its tests did: a hook within a `describe` says so nowhere else. */
  readonly status: string;
  /** What went wrong around all of the file's tests; often empty. */
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    /** `passed`, `failed`, or a word for not having run */
    readonly status: string;
    /** One for each time that it was tried; each begins with what was thrown, and is null where that was no error. */
    readonly failureMessages?: readonly (string | null)[];
  }[];
}

/** @param code exit code of vitest @param unhandled errors that nobody caught: no file is known to be theirs, so they are failures of their own */
export function countOf({ testResults }: VitestReport, code: number, unhandled: readonly string[] = []): Count {
  const files = testResults.map(countOfFile).map((file) => ({ ...NONE, ...file, files: [file] }));
  const around = unhandled.map((message) => oneFailed(`an error that nobody caught${because(message)}`));
  const count = [...files, ...around].reduce(sum, NONE);
  if (code > 1) return sum(count, oneFailed(`vitest ended with ${code}`)); // Whatever failed, it was cut off.
  if (code === 0 || count.failed > 0) return count;
  return sum(count, oneFailed(`vitest ended with ${code}, though no test failed`));
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
      ...(isAround ? [`${name}: ${line === "" ? "something around its tests failed" : line}`] : []),
      ...failed.map(({ fullName, failureMessages = [] }) => `${name}: ${fullName}${because(failureMessages[0])}`),
    ],
  };
}

/** So much of what was thrown is said where failures are listed, in characters. All of it stands where the test ran. */
const MAX_WHY_LENGTH = 300;

/** One of our own lines in a stack. */
const THROWN_AT = /^ +at .*?([^/\s]+\.ts:\d+):\d+\)?$/;

/** By what a property is told again: https://fast-check.dev/docs/tutorials/quick-start/read-test-reports/ */
const SEED = /^\{ seed: /;

function because(thrown: string | null | undefined): string {
  const [first = "", ...stack] = stripVTControlCharacters(thrown ?? "").split("\n");
  if (first === "") return "";
  // What was drawn at random and failed is lost without it.
  const line = SEED.test(stack[0] ?? "") ? `${first} ${stack[0]}` : first;
  const own = stack
    .filter((each) => !each.includes("/node_modules/"))
    .flatMap((each) => THROWN_AT.exec(each)?.[1] ?? []);
  // Many tests share a helper that throws.
  const at = own.find((each) => each.includes(".test.ts:")) ?? own[0];
  return ` – ${line.slice(0, MAX_WHY_LENGTH)}${at === undefined ? "" : ` (${at})`}`;
}
