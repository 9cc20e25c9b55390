import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, matchesGlob, relative } from "node:path";
import { Script } from "node:vm";
import { build } from "esbuild";
import { type Mutation, mutated, SWITCH } from "./mutations.ts";
import { refused } from "./refused.ts";

// A thousand mutations take seconds, because a package and its table tests are bundled once, with every mutation
// inactive.
// For each mutation only the tests that reach its place run, until one fails. If none fails, and the place was reached
// while tests were loaded, the tests are loaded again, and any test may notice the mutation.
// Likely tests run first: those that noticed mutations of the same file, and those that were defined next to the place
// during loading. Quick tests run before slow ones.

/** Packages that are tested as one, because their rules and guards make one plan, or because the tests of one cover the other. */
const TOGETHER: Readonly<Record<string, readonly string[]>> = {
  cluster: ["cluster", "cluster-tls"],
  backup: ["backup", "agent-job"],
};
/** Impure files without promises and clocks of their own. */
const STATEFUL = [
  "cluster/observe/aged.ts",
  "cluster/observe/rested.ts",
  "cluster/members/health-log.ts",
  "cluster/forecast/forecasts.ts",
  "cluster-tls/read/binding-times.ts",
];
/** Pure files that are tested only through code that reads server answers. */
const LEFT_OUT = [
  "*/step.ts",
  "cluster-tls/read/answers.ts",
  "cluster-tls/read/due-reads.ts",
  "cluster-tls/read/objects.ts",
  "cluster/auth/seen.ts",
  "backup/reach.ts",
  "schedule/failures.ts",
];

/** Files of a package, below src, that make decisions: their mutations are tried. */
function decidingFiles(root: string, name: string): readonly string[] {
  const { pure } = JSON.parse(readFileSync(join(root, "packages.json"), "utf8")) as { pure: readonly string[] };
  const files = (TOGETHER[name] ?? [name]).flatMap((each) => globSync(`${each}/**/*.ts`, { cwd: join(root, "src") }));
  const isIn = (file: string, patterns: readonly string[]) => patterns.some((pattern) => matchesGlob(file, pattern));
  return files
    .filter((file) => !file.endsWith(".test.ts") && !isIn(file, LEFT_OUT) && isIn(file, [...pure, ...STATEFUL]))
    .sort();
}

/**
 * Deadline of a mutated test, as a multiple of its normal time, and its minimum in milliseconds. Later it counts as
 * endless, which is noticed. A busy machine needs slack.
 */
const PATIENCE = 20;
const LEAST_DEADLINE_MS = 10_000;
/** Number of tests that run at a time. Their deadline follows from their total time without a mutation. */
const AT_ONCE = 32;

/** Number of tests per file that are remembered as likely. */
const REMEMBERED = 8;
/** Number of tests that run first because they were defined next to the place of a mutation. */
const NEAR = 20;

export interface Survivor extends Mutation {
  /** Whether any test reaches it. */
  readonly isReached: boolean;
}

/**
 * Every `of`-th mutation, from number `part` on (from 0). Parts are tried side by side, one process each. Mutations
 * with the same name belong to the same part, since an excuse covers all of them.
 */
export interface Part {
  readonly part: number;
  readonly of: number;
  /** `FILE:LINE` from the root: only mutations of these lines. All lines, if undefined. */
  readonly lines?: ReadonlySet<string> | undefined;
}

export interface Verdict {
  /** Mutations of all parts. */
  readonly all: readonly Mutation[];
  /** Mutations of this part. */
  readonly tried: readonly Mutation[];
  /** Unnoticed mutations, without those that the type checker refuses. */
  readonly survivors: readonly Survivor[];
}

type Body = () => unknown;
type Bundle<Switch> = (require: (name: string) => unknown, isMutated: Switch, memory: unknown) => void;

/** Declaration and change of a mutation. */
export function nameOf({ within, from, to }: Mutation): string {
  return `${within}: ${from} -> ${to}`;
}

/**
 * Tries the mutations of the package's deciding files.
 * @param root the repository
 * @param expect the function of vitest
 */
export async function trial(root: string, name: string, { part, of, lines }: Part, expect: unknown): Promise<Verdict> {
  const mutations: Mutation[] = [];
  const texts = new Map<string, string>();
  for (const path of decidingFiles(root, name).map((file) => join(root, "src", file))) {
    const made = mutated(relative(root, path), readFileSync(path, "utf8"), mutations.length);
    mutations.push(...made.mutations);
    texts.set(path, made.text);
  }
  const tests = new Tests(await bundled(root, name, texts), mutations.length, expect);
  const names = [...new Set(mutations.map(nameOf))];
  const ours = new Set(names.filter((_, n) => n % of === part));
  const isOurs = (mutation: Mutation): boolean =>
    ours.has(nameOf(mutation)) && (lines?.has(`${mutation.file}:${mutation.line}`) ?? true);
  const survivors = mutations.flatMap((mutation, id) =>
    !isOurs(mutation) || tests.notice(id, mutation.file) ? [] : [{ ...mutation, isReached: tests.reach(id) }],
  );
  const impossible = refused(root, survivors);
  return {
    all: mutations,
    tried: mutations.filter(isOurs),
    survivors: survivors.filter((each) => !impossible.has(each)),
  };
}

/** Tests of a package that contains all mutations. */
class Tests {
  readonly #load: Bundle<Uint8Array>;
  readonly #expect: unknown;
  readonly #loaded: ReadonlyMap<string, Body>;
  /** Tests that reach a mutation, by its number; "" stands for loading. */
  readonly #reached = new Map<number, Set<string>>();
  /** Number of tests that were defined before a mutation was reached during loading, by its number. */
  readonly #loading = new Map<number, Set<number>>();
  #writtenDown = 0;
  /** Time of each test without a mutation, by its name. */
  readonly #tookMs = new Map<string, number>();
  /** Tests that noticed mutations of a file, by the file; the latest is last. */
  readonly #noticed = new Map<string, string[]>();
  readonly #loadMs: number;
  /** 1 at the number of the active mutation, 0 elsewhere. */
  readonly #active: Uint8Array;

  /**
   * @param bundle calls `SWITCH(id)` at each mutation
   * @param count number of mutations
   */
  constructor(bundle: string, count: number, expect: unknown) {
    this.#expect = expect;
    this.#active = new Uint8Array(count);
    this.#record(new Script(bundle).runInThisContext() as Bundle<(id: number) => boolean>, count);
    // The tests run thousands of times from here on: reading an array costs much less than a call.
    const indexed = bundle.replaceAll(new RegExp(`${SWITCH}\\(([^)]+)\\)`, "g"), `${SWITCH}[$1]`);
    this.#load = new Script(indexed).runInThisContext() as Bundle<Uint8Array>;
    const begin = performance.now();
    this.#loaded = this.#tests(this.#load, this.#active);
    this.#loadMs = performance.now() - begin;
  }

  /** Runs all tests without a mutation, and records which mutations each of them reaches, and its time. */
  #record(load: Bundle<(id: number) => boolean>, count: number): void {
    // The last test that reached a mutation: most calls come from a test that is recorded already.
    const last = new Int32Array(count).fill(-1);
    let [running, number] = ["", 0];
    const reached = (id: number): boolean => {
      if (last[id] === number && running !== "") return false;
      last[id] = number;
      this.#reached.set(id, (this.#reached.get(id) ?? new Set()).add(running));
      if (running === "") this.#loading.set(id, (this.#loading.get(id) ?? new Set()).add(this.#writtenDown));
      return false;
    };
    for (const [name, body] of this.#tests(load, reached)) {
      running = name;
      number += 1;
      const started = performance.now();
      body();
      this.#tookMs.set(name, performance.now() - started);
    }
  }

  reach(id: number): boolean {
    return this.#reached.has(id);
  }

  /**
   * Whether a test fails, cannot be loaded, or does not end.
   * @param file file of the mutation
   */
  notice(id: number, file: string): boolean {
    const by = this.#reached.get(id);
    if (by === undefined) return false;
    if (this.#isNoticed(id, file, this.#inOrder(by, file), () => this.#loaded)) return true;
    return (
      by.has("") &&
      this.#isNoticed(id, file, this.#inOrder(this.#loaded.keys(), file, id), () =>
        this.#tests(this.#load, this.#active),
      )
    );
  }

  #isNoticed(id: number, file: string, names: readonly string[], tests: () => ReadonlyMap<string, Body>): boolean {
    let asked: string | undefined;
    Memory.forget();
    this.#active[id] = 1;
    try {
      let bodies: ReadonlyMap<string, Body> = new Map();
      within(this.#loadMs, () => {
        bodies = tests();
      });
      for (let from = 0; from < names.length; from += AT_ONCE) {
        const some = names.slice(from, from + AT_ONCE);
        within(
          some.reduce((sum, name) => sum + this.#took(name), 0),
          () => {
            for (asked of some) bodies.get(asked)?.();
          },
        );
      }
      return false;
    } catch {
      if (asked !== undefined) this.#remember(asked, file);
      return true;
    } finally {
      this.#active[id] = 0;
    }
  }

  /**
   * Test names with the likely ones first.
   * @param id number of a mutation for which the tests are loaded again
   */
  #inOrder(names: Iterable<string>, file: string, id?: number): readonly string[] {
    const quick = [...names].sort((a, b) => this.#took(a) - this.#took(b));
    const all = [...this.#loaded.keys()];
    const places = id === undefined ? [] : [...(this.#loading.get(id) ?? [])];
    const near = places.flatMap((place) => all.slice(place, place + NEAR));
    const may = new Set(quick);
    const likely = [...(this.#noticed.get(file) ?? []).toReversed(), ...near];
    return [...new Set([...likely, ...quick])].filter((name) => may.has(name));
  }

  #took(test: string): number {
    return this.#tookMs.get(test) ?? 0;
  }

  #remember(test: string, file: string): void {
    const noticed = (this.#noticed.get(file) ?? []).filter((each) => each !== test);
    this.#noticed.set(file, [...noticed, test].slice(-REMEMBERED));
  }

  #tests<Switch>(load: Bundle<Switch>, isMutated: Switch): ReadonlyMap<string, Body> {
    this.#writtenDown = 0;
    const tests = new Map<string, Body>();
    const found = new Map<string, number>();
    const titles: string[] = [];
    const test = (name: string, ...rest: readonly unknown[]) => {
      const title = [...titles, name].join(" ");
      if (typeof rest.at(-1) !== "function") throw new Error(`a test has no body: ${title}`);
      // Tests with the same title get a number.
      const nth = (found.get(title) ?? 0) + 1;
      found.set(title, nth);
      tests.set(nth === 1 ? title : `${title} (${nth})`, rest.at(-1) as Body);
      this.#writtenDown = tests.size;
    };
    test.each = (rows: readonly unknown[]) => (name: string, body: (...row: readonly unknown[]) => unknown) => {
      for (const [n, row] of rows.entries()) test(`${name} ${n}`, () => body(...(Array.isArray(row) ? row : [row])));
    };
    const describe = (name: string, body: Body) => {
      titles.push(name);
      body();
      titles.pop();
    };
    describe.each = (rows: readonly unknown[]) => (name: string, body: (...row: readonly unknown[]) => void) => {
      for (const [n, row] of rows.entries())
        describe(`${name} ${n}`, () => body(...(Array.isArray(row) ? row : [row])));
    };
    const vitest = { test, it: test, describe, expect: this.#expect };
    load((name) => (name === "vitest" ? vitest : installed(name)), isMutated, Memory);
    return tests;
  }
}

const installed = createRequire(import.meta.url);
/** A script that can be stopped, unlike a function. */
const ATTEMPT = new Script("attempt()");
const shared = globalThis as { attempt?: () => void };

/** Runs the work, and throws when it does not end. @param usualMs its normal time, in milliseconds */
function within(usualMs: number, work: () => void): void {
  shared.attempt = work;
  ATTEMPT.runInThisContext({ timeout: Math.max(LEAST_DEADLINE_MS, Math.round(usualMs * PATIENCE)) });
}

/** Replaces the WeakMap of the bundle: entries from runs without the mutation would hide it. */
class Memory<K extends WeakKey, V> {
  static #now = 0;
  #since = 0;
  #content = new WeakMap<K, V>();

  static forget(): void {
    Memory.#now++;
  }

  has(key: K): boolean {
    return this.#since === Memory.#now && this.#content.has(key);
  }

  get(key: K): V | undefined {
    return this.#since === Memory.#now ? this.#content.get(key) : undefined;
  }

  set(key: K, value: V): this {
    if (this.#since !== Memory.#now) this.#content = new WeakMap();
    this.#since = Memory.#now;
    this.#content.set(key, value);
    return this;
  }
}

/** Whether a test file is synchronous: asynchronous tests are no tables of cases. */
function isTable(path: string): boolean {
  return !/\basync\b|\.(?:resolves|rejects)\b/.test(readFileSync(path, "utf8"));
}

async function bundled(root: string, name: string, texts: ReadonlyMap<string, string>): Promise<string> {
  const tests = (TOGETHER[name] ?? [name])
    .flatMap((each) => globSync(join(root, "src", each, "**/*.test.ts")))
    .sort()
    .filter(isTable);
  const { outputFiles } = await build({
    stdin: { contents: tests.map((path) => `import ${JSON.stringify(path)};`).join("\n"), resolveDir: root },
    bundle: true,
    write: false,
    platform: "node",
    target: "node24",
    format: "cjs",
    packages: "external",
    logLevel: "silent",
    plugins: [
      {
        name: "mutations",
        setup({ onLoad }) {
          onLoad({ filter: /\.ts$/ }, ({ path }) => {
            const contents = texts.get(path);
            return contents === undefined ? undefined : { contents, loader: "ts" };
          });
        },
      },
    ],
  });
  return `(function (require, ${SWITCH}, WeakMap) {${outputFiles[0]?.text ?? ""}\n})`;
}
