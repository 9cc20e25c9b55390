import { timeIn } from "./age.ts";
import { numberAt, textAt, type Values } from "./fields.ts";

/** An event of the operator, as the core API returns it. */
export interface EventView {
  readonly about: string;
  readonly isWarning: boolean;
  /** The rule or guard, in CamelCase. */
  readonly reason: string;
  readonly action: string;
  readonly message: string;
  /** Time of the last occurrence; 0 when it has none. */
  readonly atMs: number;
  readonly count: number;
}

/** Events, the latest first. */
export function eventViews(events: readonly Values[]): readonly EventView[] {
  return events
    .map((event) => ({
      about: textAt(event, "involvedObject", "name"),
      isWarning: textAt(event, "type") === "Warning",
      reason: textAt(event, "reason"),
      action: textAt(event, "action"),
      message: textAt(event, "message"),
      atMs: lastTime(event),
      count: numberAt(event, "series", "count") ?? numberAt(event, "count") ?? 1,
    }))
    .sort((a, b) => b.atMs - a.atMs);
}

function lastTime(event: Values): number {
  const times = [
    textAt(event, "series", "lastObservedTime"),
    textAt(event, "lastTimestamp"),
    textAt(event, "eventTime"),
    textAt(event, "metadata", "creationTimestamp"),
  ];
  return times.map(timeIn).find((ms) => ms !== undefined) ?? 0;
}
