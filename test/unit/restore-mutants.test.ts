import { test } from "vitest";
import { phaseOf, tell } from "#kit/sweeps/restore-course.ts";
import { wrongEnd } from "#kit/sweeps/restore-promises.ts";
import { DISTURBED, SCENARIOS, type Scenario } from "#kit/sweeps/restore-scenarios.ts";
import { restoredCluster } from "#restore/desired/cluster.ts";
import { RESTORE_GUARDS } from "#restore/guards.ts";
import { identityAnnotations } from "#restore/identity.ts";
import { type planRestore, RESTORE_RULES } from "#restore/plan.ts";
import { hasEnded, isDeleting, isIdentified, type RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { decide, step } from "#runtime/decide.ts";

// Wrong controllers of restores: each breaks a promise, and the sweep has to notice that.

/** The plan with these rules replaced, or left out where undefined, and without the guards of these names. */
function planWith(
  changed: Readonly<Record<string, RestoreRule["decide"] | undefined>>,
  ...unguarded: readonly string[]
): typeof planRestore {
  const rules = RESTORE_RULES.flatMap((rule) => {
    const decides = changed[rule.name] ?? rule.decide;
    return rule.name in changed && changed[rule.name] === undefined ? [] : [{ ...rule, decide: decides }];
  });
  const guards = RESTORE_GUARDS.filter(({ name }) => !unguarded.includes(name));
  return (snapshot, resting) => decide(rules, guards, snapshot, resting);
}

function ruleOf(name: string): RestoreRule["decide"] {
  return RESTORE_RULES.find((rule) => rule.name === name)?.decide ?? (() => undefined);
}

const filledIn = ({ members }: RestoreSnapshot) =>
  members.filter(({ filling }) => filling?.job.status?.conditions !== undefined);

const MUTANTS: Readonly<Record<string, typeof planRestore>> = {
  "creates claims before the restore has its finalizer": planWith({ "hold-restore": undefined }, "held-first"),
  "writes the identity on each claim before all claims are filled": planWith(
    {
      "identify-claims": (snapshot) => {
        const claim = filledIn(snapshot).find((each) => each.claim !== undefined && !isIdentified(each.claim))?.claim;
        if (claim === undefined) return undefined;
        const annotations = identityAnnotations(snapshot.restore, claim.metadata.name);
        return step("mutant", { do: "identifyClaim", claim, annotations });
      },
    },
    "identified-last",
  ),
  "writes no further identities on claims when the restore is deleted": planWith({
    "identify-claims": (snapshot) => (isDeleting(snapshot) ? undefined : ruleOf("identify-claims")(snapshot)),
  }),
  "writes no further identities on claims when the restore has failed": planWith({
    "identify-claims": (snapshot) => (hasEnded(snapshot) ? undefined : ruleOf("identify-claims")(snapshot)),
  }),
  "never deletes claims": planWith({ "delete-claims": undefined }),
  "never deletes Jobs": planWith({ "clear-jobs": undefined }),
  "deletes claims that hold data": planWith(
    {
      "delete-claims": ({ members, ...rest }) => {
        const claim = members.find((each) => each.claim !== undefined)?.claim;
        return isDeleting({ members, ...rest }) && claim !== undefined
          ? step("mutant", { do: "deleteClaim", claim })
          : undefined;
      },
    },
    "unclaimed-data",
    "own-only",
  ),
  "never removes its finalizer": planWith({ "release-restore": undefined }),
  "does not create the cluster": planWith({ "create-cluster": undefined }),
  "creates the cluster before its claims are filled": planWith(
    {
      "fill-claim": (snapshot) => {
        const cluster = snapshot.cluster === undefined ? restoredCluster(snapshot) : undefined;
        return cluster === undefined
          ? ruleOf("fill-claim")(snapshot)
          : step("mutant", { do: "createCluster", cluster });
      },
    },
    "whole-only",
  ),
};

test.each(Object.entries(MUTANTS))("the crash sweep of restores detects a controller that %s", async (_, plan) => {
  const noticed = async (course: Scenario): Promise<boolean> => {
    const world = await tell({ ...course, plan });
    return world.wrong.length + wrongEnd(world).length > 0 || phaseOf(world) !== course.end;
  };
  const of = [...SCENARIOS, ...DISTURBED];
  for (const course of of) if (await noticed(course)) return;
  throw new Error("the sweep has noticed nothing");
});
