import { setTimeout as sleep } from "node:timers/promises";

/** Calls `look` until it returns a value. @param what for the error @throws Error when `withinMs` have passed */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  { withinMs = 180_000, everyMs = 20 }: { withinMs?: number; everyMs?: number } = {},
): Promise<T> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > endMs) throw new Error(`Not within ${withinMs / 1000} s: ${what}`);
    await sleep(everyMs);
  }
}
