import { test } from "vitest";
import { phaseOf, tell } from "#kit/restore-course.ts";
import { wrongEnd } from "#kit/restore-promises.ts";
import { DISTURBED, SCENARIOS, type Scenario } from "#kit/restore-scenarios.ts";
import { restoredCluster } from "#restore/desired/cluster.ts";
import { RESTORE_GUARDS } from "#restore/guards.ts";
import { identityAnnotations } from "#restore/identity.ts";
import { type planRestore, RESTORE_RULES } from "#restore/plan.ts";
import { hasEnded, isDeleting, isTold, type RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { decide, step } from "#runtime/decide.ts";

// Rooms of restores that are not right: what the sweep promises, it would notice.

/** The rules, of which these are others, or for undefined left out; without the guards of these names. */
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
  "makes claims that nobody would delete": planWith({ "hold-restore": undefined }, "held-first"),
  "tells each claim as soon as it is filled": planWith(
    {
      "tell-claims": (snapshot) => {
        const claim = filledIn(snapshot).find((each) => each.claim !== undefined && !isTold(each.claim))?.claim;
        if (claim === undefined) return undefined;
        const annotations = identityAnnotations(snapshot.restore, claim.metadata.name);
        return step("tell-claims", "mutant", { do: "tellClaim", claim, annotations });
      },
    },
    "told-last",
  ),
  "tells no more claims when it is to go": planWith({
    "tell-claims": (snapshot) => (isDeleting(snapshot) ? undefined : ruleOf("tell-claims")(snapshot)),
  }),
  "tells no more claims when it has failed": planWith({
    "tell-claims": (snapshot) => (hasEnded(snapshot) ? undefined : ruleOf("tell-claims")(snapshot)),
  }),
  "leaves claims behind": planWith({ "delete-claims": undefined }),
  "leaves Jobs behind": planWith({ "clear-jobs": undefined }),
  "deletes claims that hold data": planWith(
    {
      "delete-claims": ({ members, ...rest }) => {
        const claim = members.find((each) => each.claim !== undefined)?.claim;
        return isDeleting({ members, ...rest }) && claim !== undefined
          ? step("delete-claims", "mutant", { do: "deleteClaim", claim })
          : undefined;
      },
    },
    "nobodys-data",
    "own-only",
  ),
  "never lets go": planWith({ "release-restore": undefined }),
  "does not make the cluster": planWith({ "create-cluster": undefined }),
  "makes the cluster before its claims are filled": planWith(
    {
      "fill-claim": (snapshot) => {
        const cluster = snapshot.cluster === undefined ? restoredCluster(snapshot) : undefined;
        return cluster === undefined
          ? ruleOf("fill-claim")(snapshot)
          : step("create-cluster", "mutant", { do: "createCluster", cluster });
      },
    },
    "whole-only",
  ),
};

test.each(Object.entries(MUTANTS))("the sweep notices a room that %s", async (_, plan) => {
  const noticed = async (course: Scenario): Promise<boolean> => {
    const world = await tell({ ...course, plan });
    return world.wrong.length + wrongEnd(world).length > 0 || phaseOf(world) !== course.end;
  };
  const of = [...SCENARIOS, ...DISTURBED];
  for (const course of of) if (await noticed(course)) return;
  throw new Error("nobody has noticed");
});
