import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { KubeClient } from "#kube/client.ts";
import { defaultConfig } from "#kube/config.ts";
import { limitsFor } from "#kube/rate.ts";
import { createCaches } from "../../../src/bin/caches.ts";

// A process that only runs the operator's caches, and prints the number of its objects. The variable KUBECONFIG names
// the API server. The test measures its memory from outside.

const config = await defaultConfig();
const { signal } = new AbortController();
const client = new KubeClient({ config, userAgent: "hostile", limits: limitsFor(1_000) });
const caches = createCaches(client, systemClock, silentLog);
const startedAtMs = process.threadCpuUsage().user / 1_000;
for (const cache of Object.values(caches)) cache.start(signal);
for (const cache of Object.values(caches)) await cache.whenSynced(signal);
const cpuMs = process.threadCpuUsage().user / 1_000 - startedAtMs;
const sizes = Object.fromEntries(Object.entries(caches).map(([kind, { size }]) => [kind, size]));
console.log(JSON.stringify({ sizes, cpuMs }));
process.exit(0);
