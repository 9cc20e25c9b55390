// What may a rule return?
// - A step: do this now.
// - A wait: no rule below this one may act yet.
// - A notice: users should know this, and the next rule decides all the same.
// What happens to a step that fails?
//   It is deferred for a while (setbacks.ts), and the next rule decides. So a Service that a quota rejects does not
//   keep a lost member from being replaced. A rule that `holds` is the exception: while its step is deferred no rule
//   below it acts, because the step makes the later ones safe.

/** What one pass is going to do. `rule` names the rule or guard that decided; `because` is one sentence for users. */
export type Plan<Step> = (Proposal<Step> | Wait | Settled) & {
  /** Deferred steps and notices, in the order of the rules; undefined when there are none. */
  readonly reports?: readonly Report[];
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
  /** Milliseconds until the next pass, when no event comes first. */
  readonly recheckAfterMs: number;
  /** Whether to publish an event of type Warning. */
  readonly warn: boolean;
  /** The deferred step of this rule, when that is why the rule holds everything below it. */
  readonly held?: Report;
}

interface Settled {
  readonly next: "settled";
  /** Milliseconds until the next pass, when no event comes first; undefined: the controller's default. */
  readonly recheckAfterMs?: number;
}

/** A notice for users. The next rule decides all the same. */
interface Notice {
  readonly next: "notice";
  readonly because: string;
}

/** A deferred step, or a notice. */
export interface Report {
  /** The rule that proposed it. */
  readonly rule: string;
  readonly because: string;
  /** Error code of the failed step (base/error.ts); undefined for a notice, and for a step that has no effect. */
  readonly code?: string;
  /** For how long the step has been tried without success, in milliseconds; undefined when unknown. */
  readonly triedForMs?: number;
  /**
   * notice: still to be published as an event. refused: the failure was published already. delayed: etcd asked for a
   * retry within moments.
   */
  readonly is: "notice" | "refused" | "delayed";
}

/** Why and for how long a step is not retried. */
export interface Rest {
  readonly because: string;
  readonly code?: string;
  /** Time left, in milliseconds. */
  readonly forMs: number;
  /** For how long the step has been tried without success, in milliseconds; undefined when unknown. */
  readonly triedForMs?: number;
  /** Whether etcd only asked for a later retry, for example while it elects a leader. Not reported to users. */
  readonly isBrief: boolean;
}

/** Looks up whether the step of a rule must not be retried yet. */
export type Resting<Step> = (rule: string, step: Step) => Rest | undefined;

/**
 * One named reason to make a change, to wait, or to give notice. `undefined` means no opinion. Pure, total, without
 * clock.
 */
export interface Rule<Snapshot, Step> {
  readonly name: string;
  /** While its step is deferred, no rule below it acts. */
  readonly holds?: true;
  decide(snapshot: Snapshot): Opinion<Step> | undefined;
}

/** What a rule returns. The plan adds the name of the rule. */
export type Opinion<Step> = Proposed<Step> | Waiting | Settled | Notice;
export type Proposed<Step> = Omit<Proposal<Step>, "rule">;
export type Waiting = Omit<Wait, "rule">;

/** One named invariant. Returns why this step would break it. Pure, total, without clock. */
export interface Guard<Snapshot, Step> {
  readonly name: string;
  forbids(snapshot: Snapshot, step: Step): string | undefined;
}

/** Milliseconds until the next pass after a guard forbade a step. An event usually comes first. */
const GUARDED_RECHECK_MS = 5_000;

const NOTHING_RESTS = () => undefined;

/**
 * Returns the opinion of the first rule that has something to do or to wait for. A guard may turn its step into a wait.
 * Pure: the same snapshot and the same deferred steps give the same plan.
 */
export function decide<Snapshot, Step>(
  rules: readonly Rule<Snapshot, Step>[],
  guards: readonly Guard<Snapshot, Step>[],
  snapshot: Snapshot,
  resting: Resting<Step> = NOTHING_RESTS,
): Plan<Step> {
  const reports: Report[] = [];
  let soonestMs = Number.POSITIVE_INFINITY;
  for (const { name, holds, decide: opinionOn } of rules) {
    const opinion = opinionOn(snapshot);
    if (opinion === undefined) continue;
    if (opinion.next === "notice") {
      reports.push({ rule: name, because: opinion.because, is: "notice" });
      continue;
    }
    if (opinion.next === "settled") return withReports(opinion, reports, soonestMs);
    if (opinion.next === "wait") return withReports({ ...opinion, rule: name }, reports, soonestMs);
    const rest = resting(name, opinion.step);
    if (rest === undefined)
      return withReports(guarded(guards, snapshot, { ...opinion, rule: name }), reports, soonestMs);
    const { forMs } = rest;
    const left = reportOf(name, rest);
    if (holds) return withReports({ ...wait(rest.because, forMs), rule: name, held: left }, reports, soonestMs);
    soonestMs = Math.min(soonestMs, forMs);
    reports.push(left);
  }
  return withReports({ next: "settled" }, reports, soonestMs);
}

function reportOf(rule: string, { because, code, triedForMs, isBrief }: Rest): Report {
  const known = { ...(code === undefined ? {} : { code }), ...(triedForMs === undefined ? {} : { triedForMs }) };
  return { rule, because, is: isBrief ? "delayed" : "refused", ...known };
}

/**
 * The first deferred step or notice that does not pass within moments. A step that holds everything below it comes
 * last.
 */
export function lackingIn<Step>(plan: Plan<Step>): Report | undefined {
  const held = plan.next === "wait" && plan.held !== undefined ? [plan.held] : [];
  return [...(plan.reports ?? []), ...held].find(({ is }) => is !== "delayed");
}

function guarded<Snapshot, Step>(
  guards: readonly Guard<Snapshot, Step>[],
  snapshot: Snapshot,
  proposal: Proposal<Step>,
): Proposal<Step> | Wait {
  const forbidden = forbiddenBy(guards, snapshot, proposal.step);
  if (forbidden === undefined) return proposal;
  const because = `${forbidden.why} (held back: ${proposal.rule})`;
  return { ...wait(because, GUARDED_RECHECK_MS, { warn: true }), rule: forbidden.guard };
}

/** The first guard that forbids the step, and why; `undefined` when all allow it. */
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

/** @param soonestMs time until the first deferred step may be retried */
function withReports<Step>(
  plan: Proposal<Step> | Wait | Settled,
  reports: readonly Report[],
  soonestMs: number,
): Plan<Step> {
  const more = reports.length === 0 ? {} : { reports };
  if (plan.next === "step" || soonestMs === Number.POSITIVE_INFINITY) return { ...plan, ...more };
  return { ...plan, ...more, recheckAfterMs: Math.min(plan.recheckAfterMs ?? soonestMs, soonestMs) };
}

export function step<Step>(because: string, what: Step): Proposed<Step> {
  return { next: "step", because, step: what };
}

export function wait(because: string, recheckAfterMs: number, options: { warn?: boolean } = {}): Waiting {
  return { next: "wait", because, recheckAfterMs, warn: options.warn ?? false };
}

export function notice(because: string): Notice {
  return { next: "notice", because };
}
