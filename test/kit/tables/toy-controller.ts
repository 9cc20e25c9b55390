import { silentLog } from "#base/log.ts";
import { type Observed, present } from "#base/observed.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { Controller, Key, Written } from "#runtime/controller.ts";
import { decide, type Plan, type Resting, type Rule } from "#runtime/decide.ts";
import { Expectations } from "#runtime/expectations.ts";
import { createMetrics } from "#runtime/metrics.ts";
import type { PassTools } from "#runtime/pass.ts";
import type { Stage } from "#runtime/urgency.ts";

export interface ToyStep {
  readonly do: string;
}

/** A controller with answers that a test chooses. It records its calls. */
export class ToyController implements Controller<number, ToyStep, string> {
  readonly name = "toy";
  readonly restMs = () => 60_000;
  readonly asked: string[] = [];
  seen: Observed<number> = present(1);
  /** The answer of its first rule. */
  next: Plan<ToyStep> = { next: "settled" };
  /** The target of its steps; a changed target makes a different step. */
  wish = "red";
  /** Its second rule. */
  second: Rule<number, ToyStep> = { name: "second", decide: () => undefined };
  /** The body of `act`; throws when the write must fail. */
  acting: (signal: AbortSignal) => Promise<Written> = () => Promise.resolve({ kind: "external" });
  /** Whether the object is gone. */
  isGone = false;
  /** The report of failing passes. */
  failing: (signal: AbortSignal) => Promise<Written | undefined> = () => Promise.resolve(undefined);
  observing: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();

  stageOf = (_key: Key): Stage => "settled";
  firstLooksApartMs = 0;
  /** The result of `quickCheck`: for how long the key needs no pass, or undefined. */
  quickCheckResult: () => Promise<number | undefined> = () => Promise.resolve(undefined);

  async quickCheck(): Promise<number | undefined> {
    return await this.quickCheckResult();
  }

  async observe(key: Key, signal: AbortSignal): Promise<Observed<number>> {
    this.asked.push(`observe ${key.name}`);
    await this.observing(signal);
    return this.seen;
  }

  plan(_snapshot: number, resting: Resting<ToyStep>): Plan<ToyStep> {
    const { next } = this;
    const name = next.next === "settled" ? "toy" : next.rule;
    return decide([{ name, decide: () => next }, this.second], [], 1, resting);
  }

  target(): string {
    return this.wish;
  }

  async act(step: ToyStep, _snapshot: number, signal: AbortSignal): Promise<Written> {
    this.asked.push(step.do);
    return await this.acting(signal);
  }

  status(_snapshot: number, plan: Plan<ToyStep>): string {
    const reports = plan.reports?.map(({ rule }) => rule) ?? [];
    return [plan.next, ...(reports.length === 0 ? [] : [`reports: ${reports.join(" ")}`])].join(", ");
  }

  writeStatus(_snapshot: number, status: string): Promise<undefined> {
    this.asked.push(`status: ${status}`);
    return Promise.resolve(undefined);
  }

  subject() {
    return { apiVersion: "v1", kind: "Toy", namespace: "foo", name: "toy", uid: "uid" };
  }

  subjectOf() {
    return this.isGone ? undefined : this.subject();
  }

  async writeFailing(_key: Key, because: string, signal: AbortSignal): Promise<Written | undefined> {
    this.asked.push(`failing: ${because}`);
    return await this.failing(signal);
  }
}

/** Tools for passes, with a clock that the test moves. `told` holds the events. */
export function toyTools(overrides: Partial<PassTools> = {}) {
  const clock = new FakeClock();
  const told: string[] = [];
  const metrics = createMetrics();
  const tools: PassTools = {
    clock,
    log: silentLog,
    metrics,
    expectations: new Expectations(
      clock,
      () => undefined,
      () => undefined,
    ),
    publish: (_subject, event) => told.push(`${event.type} ${event.reason}: ${event.note}`),
    mayAct: () => true,
    ...overrides,
  };
  return { clock, told, metrics, tools };
}
