import { setTimeout as sleep } from "node:timers/promises";

/** Looks again and again until there is something. @throws Error when `withinMs` have passed, naming what was waited for */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  { withinMs = 180_000, everyMs = 20 }: { withinMs?: number; everyMs?: number } = {},
): Promise<T> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > endMs) throw new Error(`after ${withinMs / 1000} s still not: ${what}`);
    await sleep(everyMs);
  }
}
