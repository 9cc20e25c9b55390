import { between, type Histogram, histogramOf, quantile } from "./histogram.ts";
import { type Sample, samplesIn } from "./metrics-text.ts";

const SYNC = "etcd_disk_wal_fsync_duration_seconds_bucket";
const COMMIT = "etcd_disk_backend_commit_duration_seconds_bucket";
const ROUND_TRIP = "etcd_network_peer_round_trip_time_seconds_bucket";
const MEMBER_ID = "etcd_server_id";
const START = "process_start_time_seconds";
const COUNTERS = {
  leaderChanges: "etcd_server_leader_changes_seen_total",
  failedProposals: "etcd_server_proposals_failed_total",
  slowApplies: "etcd_server_slow_apply_total",
} as const;

const NAMES: ReadonlySet<string> = new Set([SYNC, COMMIT, ROUND_TRIP, MEMBER_ID, START, ...Object.values(COUNTERS)]);

/**
 * Least number of observations of a disk for a p99. Fewer: one slow write of a member's start decides. Above 100 the
 * default window never has enough: a member commits at most ten times a second.
 */
export const ENOUGH_WRITES = 50;
/** Least number of round trips: etcd measures one or two in 30 s, and each is a moving average of many. */
const ENOUGH_ROUND_TRIPS = 1;
/** Share of the observations that are faster than what is shown. */
const SHARE = 0.99;
const MS = 1_000;
/** Latest time that a Date can have, in seconds. */
const LAST_TIME_S = 8.64e12;

export type CounterName = keyof typeof COUNTERS;

/** What one member's metrics contain; a part that is missing or not valid is undefined. */
export interface Reading {
  /** Hexadecimal. */
  readonly memberId: string | undefined;
  readonly startMs: number | undefined;
  /** Seconds, as in the histograms below. */
  readonly sync: Histogram | undefined;
  readonly commit: Histogram | undefined;
  /** Keys are hexadecimal IDs of peers. */
  readonly roundTrips: ReadonlyMap<string, Histogram>;
  readonly counters: Readonly<Record<CounterName, number | undefined>>;
}

export interface Latency {
  /** 99 % of the observations were faster. */
  readonly p99Ms: number;
  /** Whether the true p99 is above `p99Ms`, beyond the last bucket. */
  readonly isAbove: boolean;
  /** Observations. */
  readonly count: number;
  /** `few`: since the start of the member, and too few to judge. */
  readonly basis: "window" | "start" | "few";
}

export interface Counted {
  /** Since the start of the member. */
  readonly total: number;
  readonly inWindow: number;
}

/** How fast one member was; a part is undefined when its metrics have no such observation. */
export interface Speed {
  readonly startMs: number | undefined;
  readonly sync: Latency | undefined;
  readonly commit: Latency | undefined;
  /** Keys are hexadecimal IDs of peers. */
  readonly roundTrips: ReadonlyMap<string, Latency>;
  readonly counters: Readonly<Record<CounterName, Counted | undefined>>;
}

/** @param text the answer of `/metrics` */
export function readingOf(text: string): Reading {
  const byName = Map.groupBy(samplesIn(text, NAMES), ({ name }) => name);
  const firstOf = (name: string) => byName.get(name)?.[0]?.value;
  const ids = (byName.get(MEMBER_ID) ?? []).filter(({ value }) => value === 1);
  const start = firstOf(START);
  const trips = Map.groupBy(byName.get(ROUND_TRIP) ?? [], ({ labels }) => labels.get("To") ?? "");
  const read = [...trips].map(([to, samples]) => [to, histogramOf(samples)] as const);
  return {
    memberId: ids[0]?.labels.get("server_id"),
    startMs: start === undefined || start > LAST_TIME_S ? undefined : start * MS,
    sync: histogramOf(plain(byName.get(SYNC))),
    commit: histogramOf(plain(byName.get(COMMIT))),
    roundTrips: new Map(read.filter((each): each is [string, Histogram] => each[1] !== undefined)),
    counters: {
      leaderChanges: firstOf(COUNTERS.leaderChanges),
      failedProposals: firstOf(COUNTERS.failedProposals),
      slowApplies: firstOf(COUNTERS.slowApplies),
    },
  };
}

/** Samples with the label `le` alone: another etcd could add labels, which would mix two histograms. */
function plain(samples: readonly Sample[] = []): readonly Sample[] {
  return samples.filter(({ labels }) => labels.size === 1);
}

/** @param before undefined when the member could not be read at the beginning of the window */
export function speedOf(before: Reading | undefined, after: Reading): Speed {
  const earlier = before?.startMs === after.startMs ? before : undefined;
  const trips = [...after.roundTrips].map(
    ([to, each]) => [to, latencyOf(earlier?.roundTrips.get(to), each, ENOUGH_ROUND_TRIPS)] as const,
  );
  const counted = (name: CounterName) => countedIn(earlier?.counters[name], after.counters[name]);
  return {
    startMs: after.startMs,
    sync: latencyOf(earlier?.sync, after.sync, ENOUGH_WRITES),
    commit: latencyOf(earlier?.commit, after.commit, ENOUGH_WRITES),
    roundTrips: new Map(trips.filter((each): each is [string, Latency] => each[1] !== undefined)),
    counters: {
      leaderChanges: counted("leaderChanges"),
      failedProposals: counted("failedProposals"),
      slowApplies: counted("slowApplies"),
    },
  };
}

/** The p99 within the window, or since the start of the member when the window has too few observations. */
function latencyOf(before: Histogram | undefined, after: Histogram | undefined, enough: number): Latency | undefined {
  if (after === undefined) return undefined;
  const recent = before === undefined ? undefined : between(before, after);
  const isRecent = recent !== undefined && recent.count >= enough;
  const used = isRecent ? recent : after;
  const found = quantile(used, SHARE);
  if (found === undefined) return undefined;
  const basis = isRecent ? "window" : used.count >= enough ? "start" : "few";
  // Microseconds: more digits mean nothing.
  return { p99Ms: Math.round(found.value * MS * MS) / MS, isAbove: found.isAbove, count: used.count, basis };
}

function countedIn(before: number | undefined, after: number | undefined): Counted | undefined {
  if (after === undefined) return undefined;
  return { total: after, inWindow: before === undefined ? 0 : Math.max(0, after - before) };
}
