import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PlanStatus } from "#api/v1beta1/cluster.ts";
import { Random } from "#kit/world-random.ts";
import { seeded } from "../simulation/ambient.ts";
import { compared, editOf } from "../simulation/foretold.ts";

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

describe("simulation: what an edit would cause is what it causes", () => {
  const random = new Random(7);
  for (const edited of Array.from({ length: EDITS }, () => editOf(random))) {
    test(JSON.stringify(edited), { timeout: 120_000 }, () =>
      seeded(1, async () => {
        const { plan, foretold, done, of } = await compared(edited);
        assert.deepEqual(comparable(foretold, plan), comparable(done, plan));
        const reason = of.condition("Progressing")?.reason;
        if (plan.refused === undefined) assert.equal(plan.outcome === "Done", reason === "Settled", plan.message);
        else assert.ok(plan.refused.every(({ message }) => of.condition("Ready")?.message.includes(message)));
      }),
    );
  }
});
