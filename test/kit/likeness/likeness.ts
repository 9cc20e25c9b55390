import { expect } from "vitest";
import { OperatorError } from "#base/error.ts";
import type { EtcdClient } from "#etcd/client.ts";
import { refusalOf } from "#etcd/error.ts";
import { World } from "#kit/world/world.ts";
import type { KubeClient } from "#kube/client.ts";

// How is the simulation known to be like the real servers?
//
// A story runs twice through the same client interface: against the simulated server and against the real one. Each
// answer is a line of a diary, and the two diaries must be equal, line by line.
//
// Known differences are listed with their reason, by story and line. An unlisted difference fails the test, and so does
// a listed one that no longer exists.

/**
 * Shows an answer without differences between any two runs, such as IDs and times.
 * @param line the line for which it is shown
 */
export type Show = (answer: unknown, line: string) => unknown;

/** The answers of one side. Both sides have the same line names, since the story is the same. */
export class Diary {
  readonly lines = new Map<string, unknown>();
  readonly #show: Show;

  constructor(show: Show) {
    this.#show = show;
  }

  /**
   * Records the answer of a call, or its refusal.
   * @returns the answer; undefined when it was refused
   */
  async note<T>(line: string, call: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await call();
      this.write(line, this.#show(answer ?? "done", line));
      return answer;
    } catch (thrown) {
      if (!(thrown instanceof OperatorError) || thrown.code === "Bug") throw thrown;
      this.write(line, [thrown.code, refusalOf(thrown)].filter((word) => word !== undefined).join(" "));
      return undefined;
    }
  }

  /** Like `note`, for a call without which the story cannot continue. */
  async need<T>(line: string, call: () => Promise<T>): Promise<T> {
    const answer = await this.note(line, call);
    if (answer === undefined) throw new Error(`"${line}": ${String(this.lines.get(line))}`);
    return answer;
  }

  write(line: string, text: unknown): void {
    if (this.lines.has(line)) throw new Error(`the story has two lines "${line}"`);
    this.lines.set(line, text);
  }
}

/** Known differences: a sentence about each, with the lines that show it, as `story: line`. */
export type Listed = Readonly<Record<string, readonly string[]>>;

/** Fails unless the diaries differ in exactly the listed lines. */
export function expectAlike(story: string, real: Diary, simulated: Diary, listed: Listed): void {
  const known = Object.values(listed).flat();
  const differing = new Map<string, readonly string[]>();
  for (const line of new Set([...real.lines.keys(), ...simulated.lines.keys()])) {
    const shown = differences(real.lines.get(line), simulated.lines.get(line));
    if (shown.length > 0) differing.set(`${story}: ${line}`, shown);
  }
  const notListed = Object.fromEntries([...differing].filter(([line]) => !known.includes(line)));
  const noLongerThere = known.filter((line) => line.startsWith(`${story}: `) && !differing.has(line));
  expect({ notListed, noLongerThere }).toEqual({ notListed: {}, noLongerThere: [] });
}

/** Listed lines of stories that do not exist. */
export function strayLines(stories: readonly { readonly name: string }[], listed: Listed): readonly string[] {
  const isTold = (line: string) => stories.some(({ name }) => line.startsWith(`${name}: `));
  return Object.values(listed)
    .flat()
    .filter((line) => !isTold(line));
}

/** A simulation in which nothing happens by itself, with the clients of an operator. */
export interface QuietWorld {
  readonly world: World;
  readonly kube: KubeClient;
  readonly etcd: EtcdClient;
}

/** The operator that these clients belonged to is dead, and saw only an empty simulation. */
export async function quietWorld(): Promise<QuietWorld> {
  const clients: { kube?: KubeClient; etcd?: EtcdClient } = {};
  const world = new World({
    seed: 1,
    replicas: 3,
    hasLocalVolumes: false,
    bindsLate: false,
    versions: [],
    hasStrictEtcd: true,
    happened: () => undefined,
    trace: undefined,
    mutation: {
      kube: (real) => {
        clients.kube = real;
        return real;
      },
      etcd: (real) => {
        clients.etcd = real;
        return real;
      },
    },
  });
  world.startOperator();
  await new Promise((resolve) => setImmediate(resolve)); // so that its caches have listed before any object exists
  world.crashOperator();
  const { kube, etcd } = clients;
  if (kube === undefined || etcd === undefined) throw new Error("the operator is given both clients when it starts");
  return { world, kube, etcd };
}

function differences(real: unknown, simulated: unknown): readonly string[] {
  const [a, b] = [fieldsOf(real), fieldsOf(simulated)];
  // fields of the other answer would be noise
  const isRefused = typeof real === "string" || typeof simulated === "string";
  const fields = isRefused ? [ANSWER] : [...new Set([...a.keys(), ...b.keys()])];
  const missing = isRefused ? "another one" : "nothing";
  return fields
    .filter((field) => a.get(field) !== b.get(field))
    .map((field) => `${field}: real ${a.get(field) ?? missing}, simulated ${b.get(field) ?? missing}`)
    .slice(0, MOST_FIELDS);
}

/** After a list that is longer on one side, everything differs. */
const MOST_FIELDS = 12;

const ANSWER = "answer";

/** Every value in the answer by its path. */
function fieldsOf(value: unknown, path = ANSWER): ReadonlyMap<string, string> {
  const parts = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (parts.length === 0) return new Map(value === undefined ? [] : [[path, JSON.stringify(value)]]);
  return new Map(parts.flatMap(([key, part]) => [...fieldsOf(part, `${path}.${key}`)]));
}
