import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterRule, ClusterStep } from "#cluster/step.ts";
import type { Mutation } from "#kit/world-operator.ts";
import { PEER_GUARDS } from "#peer/guards.ts";
import { PEER_RULES } from "#peer/plan.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerGuard, PeerRule, PeerStep } from "#peer/step.ts";
import { decide, type Opinion, type Resting } from "#runtime/decide.ts";
import type { Leaning } from "./profile.ts";

/** What the rooms decide with. */
export interface Plans {
  readonly clusterRules: readonly ClusterRule[];
  readonly clusterGuards: readonly ClusterGuard[];
  readonly peerRules: readonly PeerRule[];
  readonly peerGuards: readonly PeerGuard[];
}

export type Edit = (plans: Plans) => Plans;

/** The operator with one thing broken on purpose. A simulation that does not notice proves nothing. */
export interface Mutant {
  readonly name: string;
  /** Changes of rules and guards. */
  readonly edits?: readonly Edit[];
  /** Changes of everything else. */
  readonly parts?: Mutation;
  /** What the histories lean to, so that it is found soon. */
  readonly leaning?: Leaning;
  /**
   * Why it need not be found by itself: what else keeps the promise. Such a mutant is told as covered, and must stand in a pair
   * that is found, or say why no promise depends on it.
   */
  readonly covered?: string;
  /**
   * The promise that it breaks, by the name of the invariant. A covered mutant names the one that its pair breaks; a pair is found
   * only when it breaks this one, and must keep it in the same history as soon as its guards are back.
   */
  readonly promise?: string;
  /**
   * Promises that are not asked while it is hunted, because they would be broken before the one that it is there for: each promise has to
   * be seen to be able to fail.
   */
  readonly unasked?: readonly string[];
}

/** What the operator decides with that has these changes. */
export function plansOf(edits: readonly Edit[]): Plans {
  const real: Plans = {
    clusterRules: CLUSTER_RULES,
    clusterGuards: CLUSTER_GUARDS,
    peerRules: PEER_RULES,
    peerGuards: PEER_GUARDS,
  };
  return edits.reduce((before, edit) => edit(before), real);
}

/** The operator that the mutant stands for. */
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

/** Edits that take a guard away. */
const unguarding = new WeakSet<Edit>();

/** The mutant with its guards back; `undefined` when it took none away, or nothing else. */
export function guardedAgain<M extends Pick<Mutant, "edits">>(mutant: M): M | undefined {
  const { edits = [] } = mutant;
  const weak = edits.filter((edit) => !unguarding.has(edit));
  return weak.length === edits.length || weak.length === 0 ? undefined : { ...mutant, edits: weak };
}

/** Leaves a rule out. */
export function without(room: "cluster" | "peer", rule: string): Edit {
  return (plans) =>
    room === "cluster"
      ? { ...plans, clusterRules: others(plans.clusterRules, rule) }
      : { ...plans, peerRules: others(plans.peerRules, rule) };
}

/** Leaves a guard out. */
export function unguarded(room: "cluster" | "peer", guard: string): Edit {
  const edit: Edit = (plans) =>
    room === "cluster"
      ? { ...plans, clusterGuards: others(plans.clusterGuards, guard) }
      : { ...plans, peerGuards: others(plans.peerGuards, guard) };
  unguarding.add(edit);
  return edit;
}

/** Asks a rule of the cluster before another one. */
export function earlier(rule: string, than: string): Edit {
  return (plans) => {
    const rest = others(plans.clusterRules, rule);
    const place = rest.findIndex(({ name }) => name === than);
    return { ...plans, clusterRules: [...rest.slice(0, place), named(plans.clusterRules, rule), ...rest.slice(place)] };
  };
}

/** Asks a rule of the peer before another one. */
export function earlierInPeer(rule: string, than: string): Edit {
  return (plans) => {
    const rest = others(plans.peerRules, rule);
    const place = rest.findIndex(({ name }) => name === than);
    return { ...plans, peerRules: [...rest.slice(0, place), named(plans.peerRules, rule), ...rest.slice(place)] };
  };
}

/** A rule of the cluster that sees something else than there is. */
export function seeing(rule: string, change: (snapshot: ClusterSnapshot) => ClusterSnapshot): Edit {
  return replaced(rule, (real, snapshot) => real.decide(change(snapshot)));
}

/** A rule of the cluster that makes another step than it should. */
export function doing(rule: string, change: (step: ClusterStep, snapshot: ClusterSnapshot) => ClusterStep): Edit {
  return replaced(rule, (real, snapshot) => withStep(real.decide(snapshot), (step) => change(step, snapshot)));
}

/** A rule of the cluster that has an opinion of its own first. */
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

/** A rule of the peer that makes another step than it should, or sees something else than there is. */
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
export function leftOut(room: "cluster" | "peer", rules: readonly Mutant[]): readonly Mutant[] {
  const title = room === "cluster" ? "without rule" : "without peer rule";
  return rules.map((mutant) => ({ ...mutant, name: `${title} ${mutant.name}`, edits: [without(room, mutant.name)] }));
}

/** The mutants that leave these guards out, one each. */
export function leftUnguarded(room: "cluster" | "peer", guards: readonly Mutant[]): readonly Mutant[] {
  const title = room === "cluster" ? "without guard" : "without peer guard";
  return guards.map((mutant) => ({
    ...mutant,
    name: `${title} ${mutant.name}`,
    edits: [unguarded(room, mutant.name)],
  }));
}
