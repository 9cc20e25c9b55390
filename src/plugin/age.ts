const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;
/** Days after which a length is given in years: certificates of CAs last ten. */
const MANY_DAYS = 730;

/** A length of time for people, such as `45 s`, `12 h` or `9.8 y`. Negative lengths count as 0. */
export function lengthText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 2 * MINUTE_S) return `${seconds} s`;
  if (seconds < 2 * HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min`;
  if (seconds < 2 * DAY_S) return `${Math.floor(seconds / HOUR_S)} h`;
  const days = Math.floor(seconds / DAY_S);
  return days < MANY_DAYS ? `${days} d` : `${(days / 365).toFixed(1)} y`;
}

/** Milliseconds of an RFC 3339 time; undefined for anything else. */
export function timeIn(value: unknown): number | undefined {
  const ms = typeof value === "string" && value.length < 64 ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** Time since then, such as `12 h`; "" without a time. */
export function agoText(value: unknown, nowMs: number): string {
  const ms = timeIn(value);
  return ms === undefined ? "" : lengthText(nowMs - ms);
}

/** Time of day in UTC, with the date unless it is today, such as `03:00` or `2026-11-21 03:00`. */
export function clockText(value: unknown, nowMs: number): string {
  const ms = timeIn(value);
  if (ms === undefined) return "";
  const text = new Date(ms).toISOString();
  const today = new Date(nowMs).toISOString().slice(0, 10);
  const time = text.slice(11, 16);
  return text.startsWith(today) ? time : `${text.slice(0, 10)} ${time}`;
}

/** Time left, such as `61 d`, or how long ago it ended. */
export function leftText(value: unknown, nowMs: number): string {
  const ms = timeIn(value);
  if (ms === undefined) return "";
  return ms > nowMs ? lengthText(ms - nowMs) : `ended ${lengthText(nowMs - ms)} ago`;
}
