import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { OPERATOR } from "#api/names.ts";
import { type AuditedRequest, AuditLog, isLease } from "#kit/audit-log.ts";
import { eventually, instance, kubectl } from "#kit/e2e.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";

// How calm is the operator about what it cannot do? A process that begins to act knows nothing of what was refused to the one before
// it: it tries everything at once, and its pauses begin anew. So requests are counted of one process that has acted for a while.

/** By then its pauses, which double from half a second on, are longer than ten seconds (src/runtime/setbacks.ts). */
const SETTLED_AFTER_MS = 30_000;
/** For an operator that another test has just replaced. */
const SETTLED_WITHIN_MS = 90_000;
/** How often it may be replaced while its requests are counted. */
const ATTEMPTS = 3;

interface Lease {
  /** The times are RFC 3339. */
  readonly spec: { readonly holderIdentity?: string; readonly acquireTime?: string };
}

/**
 * Requests of the operator about this namespace during a time in which one settled process acted.
 * @param ms that time; here the passing of time is what is tested
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
  throw new Error(`${ATTEMPTS} times another operator began to act while requests were counted`);
}

/** Waits until one process has acted for long enough. @returns it */
async function settledHolder(): Promise<string> {
  return await eventually(async () => {
    const { holderIdentity = "", acquireTime = "" } = await lease();
    const actsForMs = Date.now() - Date.parse(acquireTime);
    if (holderIdentity !== "" && actsForMs >= SETTLED_AFTER_MS) return holderIdentity;
    throw new Error(`"${holderIdentity}" should act for ${SETTLED_AFTER_MS} ms; it has acted since "${acquireTime}"`);
  }, SETTLED_WITHIN_MS);
}

async function lease(): Promise<Lease["spec"]> {
  return (await kubectl.json<Lease>(["get", "lease", OPERATOR, "-n", OPERATOR_NAMESPACE])).spec;
}
