/**
 * Interval of rechecks for a state that changes without an event. It is short at first, when a change may come any
 * moment, and then grows, so that a state that lasts for hours costs little. All in milliseconds.
 * @param lastsMs how long the state has lasted
 */
export function recheckMs(lastsMs: number, { firstMs, maxMs }: { firstMs: number; maxMs: number }): number {
  return Math.min(maxMs, Math.max(firstMs, lastsMs / 10));
}
