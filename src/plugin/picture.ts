import type { Observed } from "#base/observed.ts";
import type { Values } from "./fields.ts";

/** Objects of one kind, or why they could not be read. */
export type Many = Observed<readonly Values[]>;

/** Everything about one cluster that its screens show. */
export interface ClusterPicture {
  readonly nowMs: number;
  readonly cluster: Values;
  readonly peers: Many;
  readonly schedules: Many;
  readonly users: Many;
  /** Events about the cluster and its members, in any order. */
  readonly events: Many;
  /** Pods of members; only read for `-o wide`. */
  readonly pods: Many;
}

/** The objects that were read; none when the read failed. */
export function those(many: Many): readonly Values[] {
  return many.is === "present" ? many.value : [];
}

/** A line for each kind that could not be read. */
export function unreadLines(parts: Readonly<Record<string, Many>>): readonly string[] {
  return Object.entries(parts).flatMap(([what, many]) =>
    many.is === "unknown" ? [`${what} cannot be read: ${many.why}`] : [],
  );
}
