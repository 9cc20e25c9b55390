// Why not a library?
//   Packages on npm accept more than Go's syntax, such as `1 day`, which etcd and Kubernetes refuse.

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Nanoseconds in a millisecond: the precision of Go's durations. */
const NANOSECONDS = 1_000_000;

/**
 * Parses a Go duration, such as `1h30m`, into milliseconds.
 * @returns undefined when it is invalid, or has the units `us` or `ns`, which no field needs
 */
export function millisecondsOf(duration: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(duration)) return undefined;
  const parts = duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g);
  const ms = [...parts].reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * (UNITS_MS[unit] ?? 0), 0);
  // Without the error of binary fractions: `32316ms` and `32.316s` are the same.
  return Math.round(ms * NANOSECONDS) / NANOSECONDS;
}

const SPAN_UNITS_MS: Readonly<Record<string, number>> = {
  w: 7 * 86_400_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
};

/** Parses a span of days, such as `30d` or `1w12h`, into milliseconds. @returns undefined when it is invalid */
export function spanMsOf(span: string): number | undefined {
  if (!/^(\d+[wdhms])+$/.test(span)) return undefined;
  const parts = span.matchAll(/(\d+)([wdhms])/g);
  return [...parts].reduce((sum, [, n, unit = ""]) => sum + Number(n) * (SPAN_UNITS_MS[unit] ?? 0), 0);
}
