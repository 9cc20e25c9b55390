import { setTimeout as sleep } from "node:timers/promises";
import { kubectl } from "#kit/e2e.ts";
import type { MemberPod } from "#kit/loaded-cluster.ts";

/** Pause before an eviction that was refused is tried again, in milliseconds; `kubectl drain` takes five seconds. */
const AGAIN_MS = 500;
/** Longest that the evictions of one pod may be refused, in milliseconds. */
const EVICTED_WITHIN_MS = 90_000;

/** As `kubectl drain` does it. @returns how often the budget refused it */
export async function evict({ metadata: { name, uid } }: MemberPod, namespace: string): Promise<number> {
  const eviction = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name, namespace },
    deleteOptions: { preconditions: { uid } },
  };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  const untilMs = performance.now() + EVICTED_WITHIN_MS;
  for (let refusals = 0; ; refusals++) {
    const input = JSON.stringify(eviction);
    const { code, stderr } = await kubectl.run(["create", "--raw", path, "-f", "-"], { input, mayFail: true });
    if (code === 0) return refusals;
    // HTTP 429, in the words of the API server.
    if (!stderr.includes("would violate the pod's disruption budget")) throw new Error(`evicting ${name}: ${stderr}`);
    if (performance.now() > untilMs) throw new Error(`${name} may not be evicted for ${EVICTED_WITHIN_MS / 1000} s`);
    await sleep(AGAIN_MS);
  }
}
