import type { Sample } from "./metrics-text.ts";

/** Buckets of a histogram that are read. etcd's have 15 or 17; more only cost time. */
const MOST_BUCKETS = 64;
/** Largest finite bound that is read. Times of etcd end at 8 s; a larger one would only be a long text. */
const MOST_BOUND = 100_000;

interface Bucket {
  /** Upper bound, in the unit of the metric; the last one is infinite. */
  readonly bound: number;
  /** Observations of at most `bound`, those of smaller buckets included. */
  readonly count: number;
}

/** A histogram of at least one finite bucket, with ascending bounds and counts. */
export interface Histogram {
  readonly buckets: readonly Bucket[];
  readonly count: number;
}

export interface Quantile {
  /** Unit: that of the metric. */
  readonly value: number;
  /** Whether the true value is above `value`, which is then the largest bound of a bucket. */
  readonly isAbove: boolean;
}

/**
 * The histogram of these `_bucket` samples, which differ in the label `le` only. Undefined when it has no finite bucket
 * or no infinite one: its count is then unknown.
 */
export function histogramOf(samples: readonly Sample[]): Histogram | undefined {
  const counts = new Map<number, number>();
  for (const { labels, value } of samples.slice(0, MOST_BUCKETS)) {
    const text = labels.get("le") ?? "";
    const bound = text === "+Inf" ? Number.POSITIVE_INFINITY : /^[\d.]/.test(text) ? Number(text) : Number.NaN;
    if (bound <= MOST_BOUND || bound === Number.POSITIVE_INFINITY) counts.set(bound, value);
  }
  const sorted = [...counts].sort(([a], [b]) => a - b);
  const last = sorted.at(-1);
  if (sorted.length < 2 || last?.[0] !== Number.POSITIVE_INFINITY) return undefined;
  let least = 0;
  // A count below that of a smaller bucket is wrong; the larger one counts, as for Prometheus.
  const buckets = sorted.map(([bound, count]) => {
    least = Math.max(least, count);
    return { bound, count: least };
  });
  return { buckets, count: least };
}

/** What was observed between two readings; undefined when the process restarted between them. */
export function between(before: Histogram, after: Histogram): Histogram | undefined {
  const buckets: Bucket[] = [];
  for (const [n, { bound, count }] of after.buckets.entries()) {
    const earlier = before.buckets[n];
    const added = count - (earlier?.count ?? 0);
    if (earlier?.bound !== bound || added < (buckets.at(-1)?.count ?? 0)) return undefined;
    buckets.push({ bound, count: added });
  }
  return { buckets, count: after.count - before.count };
}

/**
 * The value below which this share of the observations is, by a straight line within the bucket, as Prometheus
 * computes it.
 * @param share greater than 0 and less than 1
 * @returns undefined without any observation
 */
export function quantile({ buckets, count }: Histogram, share: number): Quantile | undefined {
  if (count === 0) return undefined;
  const rank = share * count;
  const n = buckets.findIndex((each) => each.count >= rank);
  const [bucket, lower] = [buckets[n], buckets[n - 1]];
  if (bucket === undefined) return undefined;
  const [from, below] = [lower?.bound ?? 0, lower?.count ?? 0];
  if (bucket.bound === Number.POSITIVE_INFINITY) return { value: from, isAbove: true };
  return { value: from + ((bucket.bound - from) * (rank - below)) / (bucket.count - below), isAbove: false };
}
