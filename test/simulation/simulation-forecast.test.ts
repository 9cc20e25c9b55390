import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PlanStatus } from "#api/v1beta1/cluster.ts";
import { Random } from "#kit/world/random.ts";
import { seeded } from "./ambient.ts";
import { compared, type Edited, editOf } from "./foretold.ts";

/** Enough edits for each kind of change to meet each other kind. */
const EDITS = Number(process.env.FORETOLD_EDITS ?? 40);

/**
 * Steps that a forecast can predict exactly. The budget counts pods, termination takes an unknown time, and a repeated
 * write rests. Budget steps are therefore compared only if no member is removed and few restart.
 */
function comparable(steps: readonly string[], { restarts = [] }: PlanStatus): readonly string[] {
  const isLeaving = steps.some((step) => step.startsWith("RemoveMember "));
  return isLeaving || restarts.length > 3 ? steps.filter((step) => !step.startsWith("DisruptionBudget ")) : steps;
}

/** Edits that are rare at random: sleep, and wake-up with a changed spec. */
const SLEEPS: readonly Edited[] = [
  { replicas: 3, before: {}, edit: { replicas: 0 } },
  { replicas: 3, before: { replicas: 0 }, edit: { replicas: 3 } },
  { replicas: 5, before: { replicas: 0 }, edit: { replicas: 3 } },
  { replicas: 1, before: { replicas: 0 }, edit: { replicas: 2, version: "3.6.17" } },
  { replicas: 3, before: { replicas: 0 }, edit: { version: "3.6.17" } },
];

/** Whether the forecast has the step. It leaves out steps that people cannot see. */
function isTold(step: string): boolean {
  return !step.startsWith("DropPreviousTemplate ");
}

function isNoGuess(step: string): boolean {
  return !step.includes(" MoveLeader ");
}

describe("simulation: the operator takes the forecast steps for the edit", () => {
  const random = new Random(7);
  for (const edited of [...SLEEPS, ...Array.from({ length: EDITS }, () => editOf(random))]) {
    test(JSON.stringify(edited), () =>
      seeded(1, async () => {
        const { plan, foretold, done, of } = await compared(edited);
        // The leader among members that wake up is random.
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
