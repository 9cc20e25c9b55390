import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PlanStatus } from "#api/v1beta1/cluster.ts";
import { Random } from "#kit/world-random.ts";
import { seeded } from "./ambient.ts";
import { compared, type Edited, editOf } from "./foretold.ts";

/** Enough for each wish to meet each other one. */
const EDITS = Number(process.env.FORETOLD_EDITS ?? 40);

/**
 * The budget counts pods, and how long one takes to end nobody can tell; and a write that is wanted again and again rests meanwhile. So when
 * the budget is written is held against the world only where no member leaves, and few restart.
 */
function comparable(steps: readonly string[], { restarts = [] }: PlanStatus): readonly string[] {
  const isLeaving = steps.some((step) => step.startsWith("remove-member "));
  return isLeaving || restarts.length > 3 ? steps.filter((step) => !step.startsWith("disruption-budget ")) : steps;
}

/** Edits that chance alone seldom makes: to sleep, and to wake as something else. */
const SLEEPS: readonly Edited[] = [
  { replicas: 3, before: {}, edit: { replicas: 0 } },
  { replicas: 3, before: { replicas: 0 }, edit: { replicas: 3 } },
  { replicas: 5, before: { replicas: 0 }, edit: { replicas: 3 } },
  { replicas: 1, before: { replicas: 0 }, edit: { replicas: 2, version: "3.6.17" } },
  { replicas: 3, before: { replicas: 0 }, edit: { version: "3.6.17" } },
];

/** It changes nothing that people see, and is not foretold. */
function isTold(step: string): boolean {
  return !step.startsWith("forget-previous ");
}

function isNoGuess(step: string): boolean {
  return !step.includes(" moveLeader ");
}

describe("simulation: what an edit would cause is what it causes", () => {
  const random = new Random(7);
  for (const edited of [...SLEEPS, ...Array.from({ length: EDITS }, () => editOf(random))]) {
    test(JSON.stringify(edited), () =>
      seeded(1, async () => {
        const { plan, foretold, done, of } = await compared(edited);
        // Who of those that wake will lead nobody can tell.
        const isWoken = edited.before.replicas === 0;
        const told = (all: readonly string[]) => comparable(isWoken ? all.filter(isNoGuess) : all, plan);
        assert.deepEqual(told(foretold), told(done.filter(isTold)));
        const reason = of.condition("Progressing")?.reason ?? "";
        if (plan.refused === undefined)
          assert.equal(plan.outcome === "Done", ["Settled", "Asleep"].includes(reason), plan.message);
        else assert.ok(plan.refused.every(({ message }) => of.condition("Ready")?.message.includes(message)));
      }),
    );
  }
});
