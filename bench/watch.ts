// Recovery of the watch cache from cuts, its events per second, and its memory for objects.

import { median, print, rounded, say } from "./figure.ts";
import { measureCuts } from "./watch-cuts.ts";
import { eventsPerSecond, heapMbFor } from "./watch-speed.ts";

const CACHED = 10_000;
const PODS = 3_000;
const EVENTS = 30_000;
const ROUNDS = 5;

process.env.NODE_ENV = "production"; // as in the operator's image: cached objects are not frozen

const heapMb = await heapMbFor(CACHED);
say(`${CACHED} pods: ${heapMb.toFixed(1)} MB`);
const rates: number[] = [];
for (let round = 0; round <= ROUNDS; round++) {
  const rate = await eventsPerSecond(PODS, EVENTS);
  if (round > 0) rates.push(rate); // the first round warms up the compiler
}
say(`events per second: ${rates.map((rate) => rate.toFixed(0)).join(", ")}`);
const secondsUntilRight = await measureCuts();
print({
  bench: "watch",
  secondsUntilRight,
  eventsPerSecond: Math.round(median(rates)),
  [`heapMbPer${CACHED}Pods`]: rounded(heapMb, 1),
});
