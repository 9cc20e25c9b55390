/**
 * When to look again at something of which no event tells: often at first, when it may happen any moment, then ever more rarely,
 * so that what lasts for hours costs little. All in milliseconds.
 * @param lastsMs how long it has been so
 */
export function recheckMs(lastsMs: number, { firstMs, maxMs }: { firstMs: number; maxMs: number }): number {
  return Math.min(maxMs, Math.max(firstMs, lastsMs / 10));
}
