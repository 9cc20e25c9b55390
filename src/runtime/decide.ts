// In which words do rules speak?
//   A step says: this is to be done now. A wait says: nothing below this rule may be done yet. A remark says: people should know
//   this, and the next rule may speak all the same.
// What becomes of a step that cannot be made?
//   It steps aside: it rests for a while (setbacks.ts), and meanwhile the next rule speaks, so that a Service that a quota refuses
//   does not keep a lost member from being replaced. A rule that `holds` is the exception: while its step rests, nothing
//   below it is done, because it is what makes the rest safe.

/** What one pass is going to do. `rule` is the name of the rule or guard that decided; `because` is one sentence for people. */
export type Plan<Step> = (Proposal<Step> | Wait | Settled) & {
  /** What is wanted and not done now, in the order of the rules; undefined when there is nothing. */
  readonly aside?: readonly Aside[];
};

export interface Proposal<Step> {
  readonly next: "step";
  readonly rule: string;
  readonly because: string;
  readonly step: Step;
}

export interface Wait {
  readonly next: "wait";
  readonly rule: string;
  readonly because: string;
  /** When to look again although no event came, in milliseconds. */
  readonly recheckAfterMs: number;
  /** Whether a person should hear of it: then an event of type Warning tells it. */
  readonly warn: boolean;
  /** Its own step that rests, when it is for that alone that its rule holds everything below it. */
  readonly held?: Aside;
}

interface Settled {
  readonly next: "settled";
  /** When to look again although no event came, in milliseconds; undefined: when the controller always does. */
  readonly recheckAfterMs?: number;
}

/** Something that people should know. The next rule speaks all the same. */
interface Remark {
  readonly next: "remark";
  readonly rule: string;
  readonly because: string;
}

/** What is wanted and is not done now, or what people should know. */
export interface Aside {
  /** The rule that wants it. */
  readonly rule: string;
  readonly because: string;
  /** How its step failed (base/error.ts); undefined for a remark, and for a step that has no effect. */
  readonly code?: string;
  /** How long its step has been tried in vain by now, in milliseconds; undefined when that is not known. */
  readonly triedForMs?: number;
  /** remark: an event has to tell it. refused: its event has told it. putOff: it is asked to come again, which passes in moments. */
  readonly is: "remark" | "refused" | "putOff";
}

/** Why a step is left alone for now. */
export interface Rest {
  readonly because: string;
  readonly code?: string;
  /** How much longer, in milliseconds. */
  readonly forMs: number;
  /** How long it has been tried in vain by now, in milliseconds; undefined when that is not known. */
  readonly triedForMs?: number;
  /** Whether it was not refused but asked to come again, such as by an etcd that elects a leader: nobody has to hear of that. */
  readonly isBrief: boolean;
}

/** Which steps rest, by the name of their rule and the step. */
export type Resting<Step> = (rule: string, step: Step) => Rest | undefined;

/** One named reason to change the world, to wait, or to say something. `undefined` means no opinion. Pure, total, without clock. */
export interface Rule<Snapshot, Step> {
  readonly name: string;
  /** While its step rests, nothing below it is done. */
  readonly holds?: true;
  decide(snapshot: Snapshot): Opinion<Step> | undefined;
}

export type Opinion<Step> = Proposal<Step> | Wait | Settled | Remark;

/** One named invariant. Returns why this step would break it. Pure, total, without clock. */
export interface Guard<Snapshot, Step> {
  readonly name: string;
  forbids(snapshot: Snapshot, step: Step): string | undefined;
}

/** How long a step that a guard forbids waits before the next look, in milliseconds. Events usually come first. */
const GUARDED_RECHECK_MS = 5_000;

const NOTHING_RESTS = () => undefined;

/**
 * The first rule that has something to do or to wait for wins; then any guard may turn its step into a wait.
 * Pure: the same snapshot with the same steps resting gives the same plan.
 */
export function decide<Snapshot, Step>(
  rules: readonly Rule<Snapshot, Step>[],
  guards: readonly Guard<Snapshot, Step>[],
  snapshot: Snapshot,
  resting: Resting<Step> = NOTHING_RESTS,
): Plan<Step> {
  const aside: Aside[] = [];
  let soonestMs = Number.POSITIVE_INFINITY;
  for (const { name, holds, decide: opinionOn } of rules) {
    const opinion = opinionOn(snapshot);
    if (opinion === undefined) continue;
    if (opinion.next === "remark") {
      aside.push({ rule: name, because: opinion.because, is: "remark" });
      continue;
    }
    if (opinion.next !== "step") return withAside(opinion, aside, soonestMs);
    const rest = resting(name, opinion.step);
    if (rest === undefined) return withAside(guarded(guards, snapshot, opinion), aside, soonestMs);
    const { forMs } = rest;
    const left = asideOf(name, rest);
    if (holds) return withAside({ ...wait(name, rest.because, forMs), held: left }, aside, soonestMs);
    soonestMs = Math.min(soonestMs, forMs);
    aside.push(left);
  }
  return withAside({ next: "settled" }, aside, soonestMs);
}

function asideOf(rule: string, { because, code, triedForMs, isBrief }: Rest): Aside {
  const known = { ...(code === undefined ? {} : { code }), ...(triedForMs === undefined ? {} : { triedForMs }) };
  return { rule, because, is: isBrief ? "putOff" : "refused", ...known };
}

/** The first of what is wanted and is not done, and does not pass in moments; a step that holds everything below it is the last. */
export function lackingIn<Step>(plan: Plan<Step>): Aside | undefined {
  const held = plan.next === "wait" && plan.held !== undefined ? [plan.held] : [];
  return [...(plan.aside ?? []), ...held].find(({ is }) => is !== "putOff");
}

function guarded<Snapshot, Step>(
  guards: readonly Guard<Snapshot, Step>[],
  snapshot: Snapshot,
  proposal: Proposal<Step>,
): Proposal<Step> | Wait {
  const forbidden = forbiddenBy(guards, snapshot, proposal.step);
  if (forbidden === undefined) return proposal;
  const because = `${forbidden.why} (held back: ${proposal.rule})`;
  return wait(forbidden.guard, because, GUARDED_RECHECK_MS, { warn: true });
}

/** The first of the guards by which the step may not be made, by name, and why; `undefined` when it may be. */
export function forbiddenBy<Snapshot, Step>(
  guards: readonly Guard<Snapshot, Step>[],
  snapshot: Snapshot,
  step: Step,
): { readonly guard: string; readonly why: string } | undefined {
  for (const { name, forbids } of guards) {
    const why = forbids(snapshot, step);
    if (why !== undefined) return { guard: name, why };
  }
  return undefined;
}

/** @param soonestMs when the first of the resting steps may be made again */
function withAside<Step>(
  plan: Proposal<Step> | Wait | Settled,
  aside: readonly Aside[],
  soonestMs: number,
): Plan<Step> {
  const told = aside.length === 0 ? {} : { aside };
  if (plan.next === "step" || soonestMs === Number.POSITIVE_INFINITY) return { ...plan, ...told };
  return { ...plan, ...told, recheckAfterMs: Math.min(plan.recheckAfterMs ?? soonestMs, soonestMs) };
}

export function step<Step>(rule: string, because: string, what: Step): Proposal<Step> {
  return { next: "step", rule, because, step: what };
}

export function wait(rule: string, because: string, recheckAfterMs: number, options: { warn?: boolean } = {}): Wait {
  return { next: "wait", rule, because, recheckAfterMs, warn: options.warn ?? false };
}

export function remark(rule: string, because: string): Remark {
  return { next: "remark", rule, because };
}
