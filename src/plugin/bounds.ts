import { millisecondsOf } from "#api/duration.ts";
import { textAt, type Values } from "./fields.ts";
import type { Latency } from "./reading.ts";

/** Milliseconds below which the p99 of an fsync of the WAL should be. https://etcd.io/docs/latest/faq/ */
export const SYNC_BOUND_MS = 10;
/** Milliseconds below which the p99 of a commit of the database should be, by the same page. */
export const COMMIT_BOUND_MS = 25;
/** Defaults of etcd, in milliseconds. */
const HEARTBEAT_MS = 100;
const ELECTION_MS = 1_000;
/** Round trips that must fit into an election timeout. https://etcd.io/docs/latest/tuning/ */
export const TRIPS_IN_ELECTION = 10;

/** Milliseconds below which a round trip must be, and the two settings from which that follows. */
export function networkBounds(cluster: Values) {
  const heartbeatMs = millisecondsOf(textAt(cluster, "spec", "etcd", "heartbeatInterval")) ?? HEARTBEAT_MS;
  const electionMs = millisecondsOf(textAt(cluster, "spec", "etcd", "electionTimeout")) ?? ELECTION_MS;
  return { heartbeatMs, electionMs, roundTripMs: Math.min(heartbeatMs, electionMs / TRIPS_IN_ELECTION) };
}

/** A latency as people read it, such as `2.1 ms` or `>8.1 s`. Rounded down: what is shown as 10 ms has reached 10 ms. */
export function latencyText({ p99Ms, isAbove }: Pick<Latency, "p99Ms" | "isAbove">): string {
  const text =
    p99Ms < 10 ? `${tenths(p99Ms)} ms` : p99Ms < 1_000 ? `${Math.floor(p99Ms)} ms` : `${tenths(p99Ms / 1_000)} s`;
  return isAbove ? `>${text}` : text;
}

function tenths(value: number): string {
  return (Math.floor(value * 10) / 10).toFixed(1);
}

/** Whether the latency can be judged, and is not below the bound. */
export function isExceeded(latency: Latency | undefined, boundMs: number): latency is Latency {
  return latency !== undefined && latency.basis !== "few" && latency.p99Ms >= boundMs;
}
