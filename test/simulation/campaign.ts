import { type Told, tell } from "./history.ts";
import { type Excuse, MOST_EXCUSED } from "./memory.ts";
import { type Leaning, profileOf } from "./profile.ts";

/** Outcome of many histories. */
export interface Report {
  readonly histories: number;
  readonly steps: number;
  readonly passes: number;
  readonly writes: number;
  readonly seconds: number;
  /** Number of histories with a skipped check, by the reason. */
  readonly excused: ReadonlyMap<Excuse, number>;
  /** Endings of the first cluster, with their number. */
  readonly endings: ReadonlyMap<string, number>;
  /** How often each rule and guard decided, as `controller: name`. */
  readonly decided: ReadonlyMap<string, number>;
  /** The first history in which a promise was broken, if any; the campaign ends there. */
  readonly broken: Told | undefined;
}

/** Runs histories of consecutive seeds until a promise is broken. */
export async function campaign(count: number, firstSeed = 1, leaning: Leaning = {}): Promise<Report> {
  const startedAtMs = performance.now();
  const [endings, decided] = [new Map<string, number>(), new Map<string, number>()];
  const excused = new Map<Excuse, number>();
  let [steps, passes, writes, histories] = [0, 0, 0, 0];
  let broken: Told | undefined;
  for (let seed = firstSeed; seed < firstSeed + count && broken === undefined; seed++) {
    const told = await tell(profileOf(seed, leaning));
    histories += 1;
    steps += told.steps;
    writes += told.writes;
    for (const excuse of told.excuses) tally(excused, excuse, 1);
    tally(endings, told.ending, 1);
    for (const [name, times] of told.decided) {
      tally(decided, name, times);
      passes += times;
    }
    if (told.violation !== undefined) broken = told;
  }
  const seconds = (performance.now() - startedAtMs) / 1000;
  return { histories, steps, passes, writes, seconds, excused, endings, decided, broken };
}

/** Merges reports. The time is that of the longest, since they ran side by side. */
export function together(reports: readonly Report[]): Report {
  const sum = (of: (report: Report) => number): number => reports.reduce((total, report) => total + of(report), 0);
  const join = <K>(of: (report: Report) => ReadonlyMap<K, number>): ReadonlyMap<K, number> => {
    const joined = new Map<K, number>();
    for (const report of reports) for (const [key, times] of of(report)) tally(joined, key, times);
    return joined;
  };
  return {
    histories: sum(({ histories }) => histories),
    steps: sum(({ steps }) => steps),
    passes: sum(({ passes }) => passes),
    writes: sum(({ writes }) => writes),
    seconds: Math.max(...reports.map(({ seconds }) => seconds)),
    excused: join(({ excused }) => excused),
    endings: join(({ endings }) => endings),
    decided: join(({ decided }) => decided),
    broken: reports.find(({ broken }) => broken !== undefined)?.broken,
  };
}

function tally<K>(counts: Map<K, number>, key: K, times: number): void {
  counts.set(key, (counts.get(key) ?? 0) + times);
}

/** Excuses that were used too often, in words. Fewer than 500 histories are not judged. */
export function excusedTooOften({ histories, excused }: Report): readonly string[] {
  if (histories < 500) return [];
  return [...excused]
    .filter(([excuse, times]) => times > histories * MOST_EXCUSED[excuse])
    .map(([excuse, times]) => `${excuse} in ${times} of ${histories} histories`);
}

/** The report in words. */
export function inWords(report: Report): string {
  const { histories, steps, passes, writes, seconds, excused, endings, decided } = report;
  const sorted = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .sort((a, b) => b[1] - a[1])
      .map(([name, times]) => `${name} ${times}`)
      .join(", ");
  return [
    `${histories} histories, ${steps} steps, ${passes} passes, ${writes} writes in ${seconds.toFixed(1)} s (${((seconds / histories) * 1000).toFixed(1)} ms each)`,
    `endings: ${sorted(endings)}`,
    `decided: ${sorted(decided)}`,
    `excused: ${sorted(excused)}`,
  ].join("\n");
}
