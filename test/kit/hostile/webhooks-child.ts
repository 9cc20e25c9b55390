// The webhooks in their own process, with an API server that answers at once: node test/kit/hostile/webhooks-child.ts.
// It prints its port and the CA of its certificate, and answers each message with its cost so far.

import { silentLog } from "#base/log.ts";
import { newAuthority, newServing } from "#webhooks/certificate/issue.ts";
import { conversion } from "#webhooks/conversion.ts";
import { ConversionThread } from "#webhooks/conversion-thread.ts";
import { serveWebhooks } from "#webhooks/server.ts";
import { admission } from "./admission.ts";
import { LoopWatch } from "./loop-watch.ts";
import { HOST } from "./webhooks.ts";

const authority = await newAuthority(Date.now());
const thread = new ConversionThread(silentLog);
const server = await serveWebhooks({
  port: 0,
  webhooks: [admission, conversion((...question) => thread.answer(...question))],
  log: silentLog,
  observe: () => undefined,
});
server.use(await newServing(authority, HOST, Date.now()));

// End of the last turn of the event loop: between turns the process waits, or has no processor.
let lateMs = 0;
let turnedMs = performance.now();
setInterval(() => {
  const nowMs = performance.now();
  lateMs = Math.max(lateMs, nowMs - turnedMs);
  turnedMs = nowMs;
}, 10);

const watch = new LoopWatch();
process.on("message", () => {
  const { blockedMs } = watch.take();
  process.send?.({ blockedMs, lateMs, peakMb: (process.resourceUsage().maxRSS * 1_024) / 1e6 });
  lateMs = 0;
});
process.on("disconnect", () => process.exit());
process.send?.({ port: server.port, ca: authority.certificate });
