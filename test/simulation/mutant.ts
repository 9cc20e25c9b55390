import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterRule, ClusterStep } from "#cluster/step.ts";
import type { Mutation } from "#kit/world/operator.ts";
import { PEER_GUARDS } from "#peer/guards.ts";
import { PEER_RULES } from "#peer/plan.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerGuard, PeerRule, PeerStep } from "#peer/step.ts";
import { decide, type Opinion, type Resting } from "#runtime/decide.ts";
import type { Leaning } from "./profile.ts";

/** Rules and guards that the controllers decide with. */
export interface Plans {
  readonly clusterRules: readonly ClusterRule[];
  readonly clusterGuards: readonly ClusterGuard[];
  readonly peerRules: readonly PeerRule[];
  readonly peerGuards: readonly PeerGuard[];
}

export type Edit = (plans: Plans) => Plans;

/** An operator with one deliberate defect. A simulation that does not find it proves nothing. */
export interface Mutant {
  readonly name: string;
  /** Changes of rules and guards. */
  readonly edits?: readonly Edit[];
  /** Changes of everything else. */
  readonly parts?: Mutation;
  /** Leaning of the histories, so that the mutant is found soon. */
  readonly leaning?: Leaning;
  /**
   * What else keeps the promise, if the mutant need not be found alone. Such a mutant is reported as covered. It must
   * be part of a pair that is found, or the text states why no promise depends on it.
   */
  readonly covered?: string;
  /**
   * Name of the invariant that the mutant breaks. A covered mutant has the invariant that its pair breaks. A pair must
   * break exactly this one, and keep it in the same history with its guards restored.
   */
  readonly promise?: string;
  /**
   * Promises that are not checked in the hunt, because they would be broken before the wanted one. Every promise must
   * be shown to be able to fail.
   */
  readonly unasked?: readonly string[];
}

/** Rules and guards with these changes. */
export function plansOf(edits: readonly Edit[]): Plans {
  const real: Plans = {
    clusterRules: CLUSTER_RULES,
    clusterGuards: CLUSTER_GUARDS,
    peerRules: PEER_RULES,
    peerGuards: PEER_GUARDS,
  };
  return edits.reduce((before, edit) => edit(before), real);
}

/** The broken operator. */
export function mutationOf({ edits = [], parts = {} }: Mutant): Mutation {
  const plans = plansOf(edits);
  return {
    ...parts,
    cluster: (controller, kube) => {
      const worse = {
        ...controller,
        plan: (snapshot: ClusterSnapshot, resting?: Resting<ClusterStep>) =>
          decide(plans.clusterRules, plans.clusterGuards, snapshot, resting),
      };
      return parts.cluster?.(worse, kube) ?? worse;
    },
    peer: (controller, kube) => {
      const worse = {
        ...controller,
        plan: (snapshot: PeerSnapshot, resting?: Resting<PeerStep>) =>
          decide(plans.peerRules, plans.peerGuards, snapshot, resting),
      };
      return parts.peer?.(worse, kube) ?? worse;
    },
  };
}

/** Edits that leave out a guard. */
const unguarding = new WeakSet<Edit>();

/** The mutant with its guards restored; `undefined` when it leaves out none, or changes nothing else. */
export function guardedAgain<M extends Pick<Mutant, "edits">>(mutant: M): M | undefined {
  const { edits = [] } = mutant;
  const weak = edits.filter((edit) => !unguarding.has(edit));
  return weak.length === edits.length || weak.length === 0 ? undefined : { ...mutant, edits: weak };
}

/** Leaves out a rule. */
export function without(controller: "cluster" | "peer", rule: string): Edit {
  return (plans) =>
    controller === "cluster"
      ? { ...plans, clusterRules: others(plans.clusterRules, rule) }
      : { ...plans, peerRules: others(plans.peerRules, rule) };
}

/** Leaves out a guard. */
export function unguarded(controller: "cluster" | "peer", guard: string): Edit {
  const edit: Edit = (plans) =>
    controller === "cluster"
      ? { ...plans, clusterGuards: others(plans.clusterGuards, guard) }
      : { ...plans, peerGuards: others(plans.peerGuards, guard) };
  unguarding.add(edit);
  return edit;
}

/** Moves a rule of the cluster before another rule. */
export function earlier(rule: string, than: string): Edit {
  return (plans) => {
    const rest = others(plans.clusterRules, rule);
    const place = rest.findIndex(({ name }) => name === than);
    return { ...plans, clusterRules: [...rest.slice(0, place), named(plans.clusterRules, rule), ...rest.slice(place)] };
  };
}

/** Moves a rule of the peer before another rule. */
export function earlierInPeer(rule: string, than: string): Edit {
  return (plans) => {
    const rest = others(plans.peerRules, rule);
    const place = rest.findIndex(({ name }) => name === than);
    return { ...plans, peerRules: [...rest.slice(0, place), named(plans.peerRules, rule), ...rest.slice(place)] };
  };
}

/** A rule of the cluster that gets a changed snapshot. */
export function seeing(rule: string, change: (snapshot: ClusterSnapshot) => ClusterSnapshot): Edit {
  return replaced(rule, (real, snapshot) => real.decide(change(snapshot)));
}

/** A rule of the cluster that makes a changed step. */
export function doing(rule: string, change: (step: ClusterStep, snapshot: ClusterSnapshot) => ClusterStep): Edit {
  return replaced(rule, (real, snapshot) => withStep(real.decide(snapshot), (step) => change(step, snapshot)));
}

/** A rule of the cluster with a replaced decision. */
export function replaced(
  rule: string,
  decideInstead: (real: ClusterRule, snapshot: ClusterSnapshot) => Opinion<ClusterStep> | undefined,
): Edit {
  return (plans) => ({
    ...plans,
    clusterRules: plans.clusterRules.map((real) =>
      real.name === rule ? { ...real, decide: (snapshot) => decideInstead(real, snapshot) } : real,
    ),
  });
}

/** A rule of the peer with a replaced decision. */
export function replacedInPeer(
  rule: string,
  decideInstead: (real: PeerRule, snapshot: PeerSnapshot) => Opinion<PeerStep> | undefined,
): Edit {
  return (plans) => ({
    ...plans,
    peerRules: plans.peerRules.map((real) =>
      real.name === rule ? { ...real, decide: (snapshot) => decideInstead(real, snapshot) } : real,
    ),
  });
}

export function withStep<Step>(
  plan: Opinion<Step> | undefined,
  change: (step: Step) => Step,
): Opinion<Step> | undefined {
  return plan?.next === "step" ? { ...plan, step: change(plan.step) } : plan;
}

function others<T extends { readonly name: string }>(list: readonly T[], name: string): readonly T[] {
  named(list, name);
  return list.filter((each) => each.name !== name);
}

function named<T extends { readonly name: string }>(list: readonly T[], name: string): T {
  const found = list.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no rule or guard ${name}`);
  return found;
}

/** The mutants that leave these rules out, one each. */
export function leftOut(controller: "cluster" | "peer", rules: readonly Mutant[]): readonly Mutant[] {
  const title = controller === "cluster" ? "without rule" : "without peer rule";
  return rules.map((mutant) => ({
    ...mutant,
    name: `${title} ${mutant.name}`,
    edits: [without(controller, mutant.name)],
  }));
}

/** The mutants that leave these guards out, one each. */
export function leftUnguarded(controller: "cluster" | "peer", guards: readonly Mutant[]): readonly Mutant[] {
  const title = controller === "cluster" ? "without guard" : "without peer guard";
  return guards.map((mutant) => ({
    ...mutant,
    name: `${title} ${mutant.name}`,
    edits: [unguarded(controller, mutant.name)],
  }));
}
