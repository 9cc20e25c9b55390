import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { OPERATOR } from "#api/names.ts";
import { type AuditedRequest, AuditLog, isLease } from "#kit/e2e/audit-log.ts";
import { eventually, instance, kubectl } from "#kit/e2e/e2e.ts";
import { OPERATOR_NAMESPACE } from "../../../scripts/manifests.ts";

// How often does the operator retry what it cannot do? A process that becomes leader does not know about earlier
// refusals: it tries everything at once, and its backoff starts again. So requests are counted only for a process that
// has led for a while.

/** After this time its backoff, which doubles from half a second, exceeds ten seconds (src/runtime/setbacks.ts). */
const SETTLED_AFTER_MS = 30_000;
/** Longer, because another test may have just replaced the operator. */
const SETTLED_WITHIN_MS = 90_000;
/** How often the operator may be replaced while requests are counted. */
const ATTEMPTS = 3;

interface Lease {
  /** The times are RFC 3339. */
  readonly spec: { readonly holderIdentity?: string; readonly acquireTime?: string };
}

/**
 * The operator's requests about this namespace during a time in which one settled process led.
 * @param ms that time; here the passing of time itself is tested
 */
export async function requestsDuring(namespace: string, ms: number): Promise<AuditedRequest[]> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const holder = await settledHolder();
    const log = new AuditLog(join(instance.logs, "audit.log"));
    await sleep(ms);
    const requests = await log.requests();
    if ((await lease()).holderIdentity === holder)
      return requests.filter((request) => request.namespace === namespace && !isLease(request));
  }
  throw new Error(`the leading operator changed ${ATTEMPTS} times while requests were counted`);
}

/**
 * Waits until one process has led for long enough.
 * @returns its identity
 */
async function settledHolder(): Promise<string> {
  return await eventually(async () => {
    const { holderIdentity = "", acquireTime = "" } = await lease();
    const actsForMs = Date.now() - Date.parse(acquireTime);
    if (holderIdentity !== "" && actsForMs >= SETTLED_AFTER_MS) return holderIdentity;
    throw new Error(
      `"${holderIdentity}" should have led for ${SETTLED_AFTER_MS} ms; it has led since "${acquireTime}"`,
    );
  }, SETTLED_WITHIN_MS);
}

async function lease(): Promise<Lease["spec"]> {
  return (await kubectl.json<Lease>(["get", "lease", OPERATOR, "-n", OPERATOR_NAMESPACE])).spec;
}
