import { silentLog } from "#base/log.ts";
import { type Observed, present } from "#base/observed.ts";
import type { Controller, Key, Written } from "#runtime/controller.ts";
import type { Plan } from "#runtime/decide.ts";
import { Expectations } from "#runtime/expectations.ts";
import { createMetrics } from "#runtime/metrics.ts";
import type { PassTools } from "#runtime/pass.ts";
import { FakeClock } from "./fake-clock.ts";

export interface ToyStep {
  readonly do: string;
}

/** A controller whose every answer a test chooses; it writes down what it was asked. */
export class ToyController implements Controller<number, ToyStep, string> {
  readonly name = "toy";
  readonly restMs = 60_000;
  readonly asked: string[] = [];
  seen: Observed<number> = present(1);
  next: Plan<ToyStep> = { next: "settled" };
  /** What `act` does; throws when the write is to fail. */
  acting: (signal: AbortSignal) => Promise<Written> = () => Promise.resolve({ kind: "external" });
  observing: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();

  async observe(key: Key, signal: AbortSignal): Promise<Observed<number>> {
    this.asked.push(`observe ${key.name}`);
    await this.observing(signal);
    return this.seen;
  }

  plan(): Plan<ToyStep> {
    return this.next;
  }

  async act(step: ToyStep, _snapshot: number, signal: AbortSignal): Promise<Written> {
    this.asked.push(step.do);
    return await this.acting(signal);
  }

  status(_snapshot: number, plan: Plan<ToyStep>, outcome: { is: string }): string {
    return `${plan.next} ${outcome.is}`;
  }

  writeStatus(_snapshot: number, status: string): Promise<undefined> {
    this.asked.push(`status: ${status}`);
    return Promise.resolve(undefined);
  }

  subject() {
    return { apiVersion: "v1", kind: "Toy", namespace: "foo", name: "toy", uid: "uid" };
  }
}

/** Tools for passes, on a clock that the test moves. `told` holds the events. */
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
    tell: (_subject, event) => told.push(`${event.type} ${event.reason}: ${event.note}`),
    mayAct: () => true,
    ...overrides,
  };
  return { clock, told, metrics, tools };
}
