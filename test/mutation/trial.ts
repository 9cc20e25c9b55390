import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { Script } from "node:vm";
import { build } from "esbuild";
import { type Mutation, mutated, SWITCH } from "./mutations.ts";
import { refused } from "./refused.ts";

// How can a thousand mutations be tried in seconds?
//   A room and its table tests are bundled once, with every mutation in it, asleep. For each mutation only those tests run that
//   reach its place, until one fails. When none does, what was reached while tests were loaded, such as a constant, is loaded anew, and any
//   test may notice. Those that are likely to are asked first: who noticed mutations of the same file, who was written down next to what
//   reached the place while loading; and the quick ones before the slow ones.

/** What decides, below src/ROOM. */
const MUTATED = [
  "guards.ts",
  "guards/**/*.ts",
  "plan.ts",
  "members.ts",
  "learners.ts",
  "patience.ts",
  "exposure.ts",
  "surplus.ts",
  "dying-claims.ts",
  "first-possible.ts",
  "sleep.ts",
  "monitored.ts",
  "certificates.ts",
  "certificates/purposes.ts",
  "certificates/trusted.ts",
  "certificates/usable.ts",
  "certificates/newcomer.ts",
  "certificates/handed-out.ts",
  "certificates/due.ts",
  "certificates/rotation.ts",
  "certificates/bindings.ts",
  "certificates/binding-times.ts",
  "certificates/fault.ts",
  "certificates/former-fault.ts",
  "certificates/renewal.ts",
  "certificates/kept.ts",
  "certificates/former.ts",
  "certificates/former-end.ts",
  "certificates/course.ts",
  "certificates/scheme.ts",
  "certificates/both-served.ts",
  "certificates/words.ts",
  "auth/hindrance.ts",
  "auth/unmanaged.ts",
  "auth/users.ts",
  "snapshot.ts",
  "status.ts",
  "first-backup.ts",
  "versions.ts",
  "version-path.ts",
  "downgrade.ts",
  "rolling.ts",
  "switched-tls.ts",
  "own-secrets.ts",
  "shown-secrets.ts",
  "default-tls.ts",
  "fitness.ts",
  "rest.ts",
  "rested.ts",
  "aged.ts",
  "standstill.ts",
  "trial.ts",
  "update-status.ts",
  "health-log.ts",
  "forecasts.ts",
  "verdict.ts",
  "verification.ts",
  "trouble.ts",
  "source.ts",
  "template.ts",
  "target.ts",
  "job-state.ts",
  "deletion.ts",
  "claim.ts",
  "name.ts",
  "identity.ts",
  "refused-spec.ts",
  "client-address.ts",
  "stage.ts",
  "spread.ts",
  "object.ts",
  "place.ts",
  "pods.ts",
  "cron.ts",
  "cron-fields.ts",
  "runs.ts",
  "retention.ts",
  "disposal.ts",
  "dry-run.ts",
  "conditions/**/*.ts",
  "desired/**/*.ts",
  "heir.ts",
  "growth.ts",
  "rules/**/*.ts",
  "spec-times.ts",
  "waivers.ts",
  "forecast/**/*.ts",
  "namesakes.ts",
  "permissions.ts",
  "word.ts",
  "credentials.ts",
  "belonging.ts",
  "share.ts",
  "takers.ts",
  "lease-roll.ts",
  "group-belief.ts",
];

/** Who takes this much longer than without a mutation, and this many milliseconds, runs for ever: that is noticed. A machine may have other things to do. */
const PATIENCE = 20;
const LEAST_DEADLINE_MS = 10_000;
/** So many tests are run at a time: how long they took without a mutation says how long they are waited for. */
const AT_ONCE = 32;

/** So many tests are asked first. */
const REMEMBERED = 8;
/** So many are asked that were written down next to what reached a mutation while tests were loaded. */
const NEAR = 20;

export interface Survivor extends Mutation {
  /** Whether any test reaches it. */
  readonly isReached: boolean;
}

/**
 * A part of the mutations: every `of`-th, beginning with number `part` (from 0). Parts are tried side by side, a process each. Those of the same
 * words belong to the same part: an excuse is about all of them.
 */
export interface Part {
  readonly part: number;
  readonly of: number;
}

export interface Verdict {
  /** Of all parts. */
  readonly all: readonly Mutation[];
  /** Of this part. */
  readonly tried: readonly Mutation[];
  /** Those that the type checker refuses are not among them. */
  readonly survivors: readonly Survivor[];
}

type Body = () => unknown;
type Bundle = (require: (name: string) => unknown, isMutated: (id: number) => boolean, memory: unknown) => void;

/** The declaration that it is in, and what is changed. */
export function nameOf({ within, from, to }: Mutation): string {
  return `${within}: ${from} -> ${to}`;
}

/**
 * Tries the mutations of what the room decides with.
 * @param root the repository
 * @param expect vitest's
 */
export async function trial(root: string, room: string, { part, of }: Part, expect: unknown): Promise<Verdict> {
  const files = MUTATED.flatMap((pattern) => globSync(join(root, "src", room, pattern)));
  const mutations: Mutation[] = [];
  const texts = new Map<string, string>();
  for (const path of files.filter((path) => !path.endsWith(".test.ts")).sort()) {
    const made = mutated(relative(root, path), readFileSync(path, "utf8"), mutations.length);
    mutations.push(...made.mutations);
    texts.set(path, made.text);
  }
  const tests = new Tests(await bundled(root, room, texts), expect);
  const names = [...new Set(mutations.map(nameOf))];
  const ours = new Set(names.filter((_, n) => n % of === part));
  const isOurs = (mutation: Mutation): boolean => ours.has(nameOf(mutation));
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

/** The tests of a room, with all mutations in what they test. */
class Tests {
  readonly #load: Bundle;
  readonly #expect: unknown;
  readonly #loaded: ReadonlyMap<string, Body>;
  /** By mutation: the tests that reach it; "" stands for loading them. */
  readonly #reached = new Map<number, Set<string>>();
  /** By mutation that is reached while tests are loaded: how many tests were written down until then. */
  readonly #loading = new Map<number, Set<number>>();
  #writtenDown = 0;
  /** By test: how long it took without a mutation. */
  readonly #tookMs = new Map<string, number>();
  /** By file: the tests that noticed mutations in it, the last one last. */
  readonly #noticed = new Map<string, string[]>();
  readonly #loadMs: number;
  #active = -1;
  #running: string | undefined = "";

  constructor(bundle: string, expect: unknown) {
    this.#load = new Script(bundle).runInThisContext() as Bundle;
    this.#expect = expect;
    const begin = performance.now();
    const loaded = this.#tests();
    this.#loadMs = performance.now() - begin;
    for (const [name, body] of loaded) {
      this.#running = name;
      const started = performance.now();
      body();
      this.#tookMs.set(name, performance.now() - started);
    }
    this.#running = undefined;
    this.#loaded = loaded;
  }

  reach(id: number): boolean {
    return this.#reached.has(id);
  }

  /**
   * Whether a test fails, or cannot be loaded, or does not end.
   * @param file that the mutation is in
   */
  notice(id: number, file: string): boolean {
    const by = this.#reached.get(id);
    if (by === undefined) return false;
    if (this.#isNoticed(id, file, this.#inOrder(by, file), () => this.#loaded)) return true;
    return by.has("") && this.#isNoticed(id, file, this.#inOrder(this.#loaded.keys(), file, id), () => this.#tests());
  }

  #isNoticed(id: number, file: string, names: readonly string[], tests: () => ReadonlyMap<string, Body>): boolean {
    let asked: string | undefined;
    Memory.forget();
    this.#active = id;
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
      this.#active = -1;
    }
  }

  /**
   * The likely ones first.
   * @param id of a mutation for which they are loaded anew
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

  #tests(): ReadonlyMap<string, Body> {
    this.#writtenDown = 0;
    const tests = new Map<string, Body>();
    const titles: string[] = [];
    const test = (name: string, ...rest: readonly unknown[]) => {
      const title = [...titles, name].join(" ");
      if (typeof rest.at(-1) !== "function" || tests.has(title)) throw new Error(`two tests, or none: ${title}`);
      tests.set(title, rest.at(-1) as Body);
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
    this.#load(
      (name) => (name === "vitest" ? vitest : installed(name)),
      (id) => this.#isMutated(id),
      Memory,
    );
    return tests;
  }

  #isMutated(id: number): boolean {
    if (this.#running !== undefined) {
      const by = this.#reached.get(id) ?? new Set();
      this.#reached.set(id, by.add(this.#running));
      if (this.#running === "") this.#loading.set(id, (this.#loading.get(id) ?? new Set()).add(this.#writtenDown));
    }
    return id === this.#active;
  }
}

const installed = createRequire(import.meta.url);
/** A script can be stopped, a function cannot. */
const ATTEMPT = new Script("attempt()");
const shared = globalThis as { attempt?: () => void };

/** Does the work, and throws when it does not end. @param usualMs what it takes otherwise, in milliseconds */
function within(usualMs: number, work: () => void): void {
  shared.attempt = work;
  ATTEMPT.runInThisContext({ timeout: Math.max(LEAST_DEADLINE_MS, Math.round(usualMs * PATIENCE)) });
}

/** The WeakMap of the bundle: what was remembered without the mutation would hide it. */
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

/** What takes its time is no table of cases. */
function isTable(path: string): boolean {
  return !/\basync\b|\.(?:resolves|rejects)\b/.test(readFileSync(path, "utf8"));
}

async function bundled(root: string, room: string, texts: ReadonlyMap<string, string>): Promise<string> {
  const tests = globSync(join(root, "src", room, "**/*.test.ts"))
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
