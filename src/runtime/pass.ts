import type { Clock } from "#base/clock.ts";
import { asOperatorError, hasCode } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import { workFor } from "#base/worked-on.ts";
import {
  type Controller,
  type FailingReason,
  type Key,
  keyText,
  type Outcome,
  type Subject,
} from "#runtime/controller.ts";
import type { Plan } from "#runtime/decide.ts";
import { eventName } from "#runtime/event-name.ts";
import type { Expectations, Owner } from "#runtime/expectations.ts";
import type { Metrics } from "#runtime/metrics.ts";
import { Setbacks } from "#runtime/setbacks.ts";
import { MOVED, Throws } from "#runtime/throws.ts";

/** When the key gets its next pass, if no event comes first. `isResting`: a wanted step failed and is deferred. */
type Requeue =
  | { readonly is: "after"; readonly ms: number; readonly isResting?: true }
  /** A step was tried: there may be more to do. */
  | { readonly is: "afterStep"; readonly ms: number }
  /** Nothing was observed: the caches do not show this controller's own writes yet. */
  | { readonly is: "whenSeen"; readonly ms: number }
  | { readonly is: "afterConflict" }
  | { readonly is: "withBackoff" }
  | { readonly is: "never" };

/** Longest duration of a pass, in milliseconds: several etcd calls of 2 s side by side, a write and a status write. */
export const PASS_DEADLINE_MS = 20_000;

/** Longest duration of reporting a failed pass, in milliseconds: one write. */
const REPORT_DEADLINE_MS = 5_000;

/**
 * Pause before the next pass while the cache does not show an own write, in milliseconds. The event usually comes
 * within 10 ms.
 */
const UNSEEN_RECHECK_MS = 500;

/**
 * Steps in a row after which the status is written anyway, so that steps without effect are still reported. A pass that
 * made a step leaves the status to the next pass, which follows at once. So a series of steps costs few status writes.
 */
const STEPS_WITHOUT_STATUS = 8;

type Publish = (
  subject: Subject,
  event: { type: "Normal" | "Warning"; reason: string; action: string; note: string },
) => void;

export interface PassTools {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly expectations: Expectations;
  readonly publish: Publish;
  /** Whether this process holds the lease now. Asked right before each write. */
  readonly mayAct: () => boolean;
}

/**
 * The only path to a change: observe, plan (rules, then guards), act, status.
 * Makes at most one write and a status write. Never throws: failures are logged, counted and retried.
 */
export class Pass<Snapshot, Step extends { readonly do: string }, Status> {
  readonly #controller: Controller<Snapshot, Step, Status>;
  readonly #tools: PassTools;
  /** Steps since the last status write, by key. */
  readonly #stepsInARow = new Map<string, number>();
  readonly #setbacks: Setbacks;
  readonly #throws = new Throws();

  constructor(controller: Controller<Snapshot, Step, Status>, tools: PassTools) {
    this.#controller = controller;
    this.#tools = tools;
    this.#setbacks = new Setbacks(tools.clock);
  }

  async run(key: Key, stop: AbortSignal): Promise<Requeue> {
    return await workFor(this.#owner(key), () => this.#run(key, stop));
  }

  async #run(key: Key, stop: AbortSignal): Promise<Requeue> {
    // Checked first: while many objects are created, every third pass would end here after observing everything.
    if (this.#unseen(key) !== undefined) return { is: "whenSeen", ms: UNSEEN_RECHECK_MS };
    const signal = AbortSignal.any([stop, AbortSignal.timeout(PASS_DEADLINE_MS)]);
    const { clock, metrics } = this.#tools;
    const startedAtMs = clock.monotonicMs();
    let result = "error";
    try {
      const requeue = await this.#pass(key, signal, stop);
      this.#throws.forget(key);
      result = requeue.is === "withBackoff" ? "failed" : "ok";
      return requeue;
    } catch (thrown) {
      const error = asOperatorError(thrown);
      const fields = { namespace: key.namespace, name: key.name, code: error.code, error: error.message };
      const isMoved = hasCode(error, ...MOVED);
      if (isMoved && error.known !== undefined) this.#tools.expectations.refused(this.#owner(key), error.known);
      if (isMoved && !this.#throws.isFailure(key)) {
        result = "conflict";
        this.#tools.log.debug(fields, "an object has changed during the pass; it is repeated");
        return { is: "afterConflict" };
      }
      if (!stop.aborted && error.code !== "LeaseLost") {
        this.#tools.log.error(fields, "pass failed");
        const reason = error.code === "ObjectTooLarge" ? "ObjectTooLarge" : "InternalError";
        await this.#reportThrows(key, this.#throws.note(key, error), reason, stop);
      }
      return { is: "withBackoff" };
    } finally {
      metrics.passes.inc({ controller: this.#controller.name, result });
      metrics.passSeconds.observe({ controller: this.#controller.name }, (clock.monotonicMs() - startedAtMs) / 1000);
    }
  }

  #owner({ namespace, name }: Key): Owner {
    return { controller: this.#controller.name, namespace, name };
  }

  /** The write or conflict of this controller that the cache does not show yet, in words. */
  #unseen(key: Key): string | undefined {
    return this.#tools.expectations.unmet(this.#owner(key));
  }

  async #pass(key: Key, signal: AbortSignal, stop: AbortSignal): Promise<Requeue> {
    this.#setbacks.sweep();
    const restMs = await this.#controller.quickCheck?.(key, signal);
    if (restMs !== undefined) return { is: "after", ms: restMs };
    const text = keyText(key);
    const seen = await this.#controller.observe(key, signal);
    if (seen.is === "absent") {
      this.#stepsInARow.delete(text);
      this.#setbacks.forget(key);
      return { is: "never" };
    }
    if (seen.is === "unknown") {
      this.#tools.log.warn(
        { namespace: key.namespace, name: key.name, error: seen.why },
        "the object could not be observed; retrying",
      );
      return { is: "withBackoff" };
    }

    const textOf = (rule: string, step: Step) => `${rule} ${step.do} ${this.#controller.target(step)}`;
    const plan = this.#controller.plan(seen.value, (rule, step) => this.#setbacks.resting(key, textOf(rule, step)));
    const outcome = await this.#act(key, seen.value, plan, signal);
    // The loss of the lease interrupted the step: the next leader decides again, so users need no event.
    if (outcome.is === "failed" && (stop.aborted || outcome.code === "LeaseLost")) return { is: "withBackoff" };
    if (plan.next === "step") this.#setbacks.note(key, textOf(plan.rule, plan.step), outcome);
    this.#report(key, seen.value, plan, outcome);

    const steps = outcome.is === "done" ? (this.#stepsInARow.get(text) ?? 0) + 1 : 0;
    if (steps % STEPS_WITHOUT_STATUS === 0) this.#stepsInARow.delete(text);
    else this.#stepsInARow.set(text, steps);
    // A failed step is deferred now. The next pass follows at once and reports it in the status.
    const isLeft = outcome.is === "conflict" || outcome.is === "notNow" || outcome.is === "failed";
    const leftToNext = isLeft || (outcome.is === "done" && steps % STEPS_WITHOUT_STATUS !== 0);
    if (!leftToNext) await this.#writeStatus(key, seen.value, plan, signal);
    return this.#requeue(key, seen.value, plan, outcome);
  }

  /** Reports on the object that its passes fail. @param because undefined: not to be reported yet */
  async #reportThrows(key: Key, because: string | undefined, reason: FailingReason, stop: AbortSignal): Promise<void> {
    const { expectations, log, mayAct, publish } = this.#tools;
    const subject = this.#controller.subjectOf(key);
    if (because === undefined || subject === undefined || !mayAct()) return;
    publish(subject, { type: "Warning", reason, action: "Look", note: because });
    try {
      const signal = AbortSignal.any([stop, AbortSignal.timeout(REPORT_DEADLINE_MS)]);
      const written = await this.#controller.writeFailing(key, because, signal, reason);
      if (written !== undefined) expectations.expect(this.#owner(key), written);
    } catch (thrown) {
      // The event was published, and the next pass tries again.
      const error = asOperatorError(thrown).message;
      log.debug({ namespace: key.namespace, name: key.name, error }, "could not report in the status that passes fail");
    }
  }

  async #act(key: Key, snapshot: Snapshot, plan: Plan<Step>, signal: AbortSignal): Promise<Outcome> {
    if (plan.next !== "step") return { is: "notTried" };
    if (!this.#tools.mayAct()) return { is: "failed", code: "LeaseLost", why: "this process does not hold the lease" };
    try {
      this.#tools.expectations.expect(this.#owner(key), await this.#controller.act(plan.step, snapshot, signal));
      return { is: "done" };
    } catch (thrown) {
      const error = asOperatorError(thrown);
      // Taken names that the cache does not know belong to another owner: a failure, to be reported.
      if (hasCode(error, ...MOVED)) {
        if (error.known !== undefined) this.#tools.expectations.refused(this.#owner(key), error.known);
        return { is: "conflict", why: error.message };
      }
      if (hasCode(error, "EtcdNotNow")) return { is: "notNow", why: error.message };
      return { is: "failed", code: error.code, why: error.message };
    }
  }

  async #writeStatus(key: Key, snapshot: Snapshot, plan: Plan<Step>, signal: AbortSignal): Promise<void> {
    if (!this.#tools.mayAct()) return;
    const status = this.#controller.status(snapshot, plan);
    const written = await this.#controller.writeStatus(snapshot, status, signal);
    if (written !== undefined) this.#tools.expectations.expect(this.#owner(key), written);
  }

  /** Reports the decision to log, metrics and events, under the name of the rule or guard that made it. */
  #report(key: Key, snapshot: Snapshot, plan: Plan<Step>, outcome: Outcome): void {
    const { log, metrics, publish } = this.#tools;
    const controller = this.#controller.name;
    for (const { rule, because, is } of plan.reports ?? []) {
      metrics.noticesAndDeferrals.inc({ controller, rule, kind: is });
      log.debug({ namespace: key.namespace, name: key.name, rule, because }, "notice or deferred step");
      if (is !== "notice") continue; // The event of the failed step has reported it.
      publish(this.#controller.subject(snapshot), {
        type: "Warning",
        reason: eventName(rule),
        action: "Wait",
        note: because,
      });
    }
    if (plan.next === "settled") return;
    const fields = { namespace: key.namespace, name: key.name, rule: plan.rule, because: plan.because };
    if (plan.next === "wait") {
      metrics.waits.inc({ controller, rule: plan.rule });
      log.debug(fields, "waiting");
      if (plan.warn) {
        publish(this.#controller.subject(snapshot), {
          type: "Warning",
          reason: eventName(plan.rule),
          action: "Wait",
          note: plan.because,
        });
      }
      return;
    }
    const step = plan.step.do;
    metrics.steps.inc({ controller, rule: plan.rule, outcome: outcome.is });
    if (outcome.is === "done") {
      log.info({ ...fields, step }, "step done");
      if (this.#controller.isRoutine?.(plan.rule, plan.step, snapshot) === true) return;
      publish(this.#controller.subject(snapshot), {
        type: "Normal",
        reason: eventName(plan.rule),
        action: eventName(step),
        note: plan.because,
      });
    } else if (outcome.is === "failed") {
      log.warn({ ...fields, step, code: outcome.code, error: outcome.why }, "step failed");
      const note = `${eventName(step)} failed: ${outcome.why}`;
      publish(this.#controller.subject(snapshot), {
        type: "Warning",
        reason: eventName(plan.rule),
        action: eventName(step),
        note,
      });
    } else if (outcome.is === "conflict" || outcome.is === "notNow") {
      log.debug({ ...fields, step, error: outcome.why }, "step not done; the object is observed again");
    }
  }

  #requeue(key: Key, snapshot: Snapshot, plan: Plan<Step>, outcome: Outcome): Requeue {
    switch (plan.next) {
      case "settled": {
        const restMs = this.#controller.restMs(snapshot, plan);
        return { is: "after", ms: Math.min(restMs, plan.recheckAfterMs ?? restMs), ...restingIn(plan) };
      }
      case "wait":
        return { is: "after", ms: plan.recheckAfterMs, ...restingIn(plan) };
      case "step":
        if (outcome.is === "conflict") return { is: "afterConflict" };
        // The event of the write wakes the key within milliseconds as a rule. After a failed or deferred step another
        // pass lets the next rule decide.
        return { is: "afterStep", ms: this.#unseen(key) === undefined ? 0 : UNSEEN_RECHECK_MS };
    }
  }
}

function restingIn<Step>(plan: Plan<Step>): { isResting?: true } {
  const held = plan.next === "wait" && plan.held !== undefined;
  return held || plan.reports?.some(({ is }) => is !== "notice") === true ? { isResting: true } : {};
}
