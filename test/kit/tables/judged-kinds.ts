import { expect, test } from "vitest";
import type { Guard } from "#runtime/decide.ts";

/** A case of a guard's table. */
interface Judgement<Snapshot, Step> {
  readonly guard: string;
  readonly given: Snapshot;
  readonly step: Step;
  readonly is: "forbidden" | "allowed";
}

/**
 * Tests which guards judge which kinds of step. A kind that a guard judges is forbidden in one of the guard's cases.
 * Every other kind is permitted in all of them.
 * @param steps one of each kind
 * @param judgedBy the guards that judge each kind, listed by hand
 */
export function testJudged<Snapshot, Step extends { readonly do: string }>(
  guards: readonly Guard<Snapshot, Step>[],
  steps: Readonly<Record<Step["do"], Step>>,
  judgedBy: Readonly<Record<Step["do"], readonly string[]>>,
  cases: readonly Judgement<Snapshot, Step>[],
): void {
  const kinds = Object.keys(judgedBy) as readonly Step["do"][];
  for (const { name, forbids } of guards) {
    const own = cases.filter(({ guard }) => guard === name);
    const judged = kinds.filter((kind) => judgedBy[kind].includes(name));
    test(`guards: ${name}: the guard forbids exactly the kinds of step for which it is listed`, () => {
      const forbidden = own.filter(({ is }) => is === "forbidden").map(({ step }) => step.do);
      expect(kinds.filter((kind) => forbidden.includes(kind))).toEqual(judged);
    });
    test(`guards: ${name}: the guard permits every other kind of step in all of its cases`, () => {
      const others = kinds.filter((kind) => !judged.includes(kind));
      expect(others.filter((kind) => own.some(({ given }) => forbids(given, steps[kind]) !== undefined))).toEqual([]);
    });
  }
}

/** One step of each kind in the cases. */
export function stepsIn<Step extends { readonly do: string }>(
  cases: readonly { readonly step: Step }[],
): Record<Step["do"], Step> {
  return Object.fromEntries(cases.map(({ step }) => [step.do, step])) as Record<Step["do"], Step>;
}
