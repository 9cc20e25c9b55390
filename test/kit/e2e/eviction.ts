import { setTimeout as sleep } from "node:timers/promises";
import { kubectl } from "./e2e.ts";
import type { MemberPod } from "./loaded-cluster.ts";

/** Pause before a refused eviction is repeated, in milliseconds; `kubectl drain` waits five seconds. */
const AGAIN_MS = 500;
/** How long the evictions of one pod may be refused, in milliseconds. */
const EVICTED_WITHIN_MS = 90_000;

/**
 * Evicts a pod as `kubectl drain` does.
 * @returns how often the budget refused it
 */
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
    // HTTP 429, with the API server's message.
    if (!stderr.includes("would violate the pod's disruption budget")) throw new Error(`evicting ${name}: ${stderr}`);
    if (performance.now() > untilMs) throw new Error(`${name} may not be evicted for ${EVICTED_WITHIN_MS / 1000} s`);
    await sleep(AGAIN_MS);
  }
}
