import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import type { KubeClient } from "#kube/client.ts";

// What if the operator lacks its Role in a namespace of --watch-namespaces?
//   A namespace that was deleted and created again has lost it. Caches that wait for that namespace would keep the
//   operator from managing all others. So a process leaves such a namespace out from its start on.
// Why is a namespace left out as a whole?
//   With the rights to some kinds only, an EtcdCluster would look as if it had no members.
// How does it come back? The process ends when it has the right, and is started again with that namespace.

/**
 * Milliseconds of refusals after which the right counts as missing. An API server that starts refuses
 * requests for moments, until it has read its RBAC objects.
 */
const REFUSED_MS = 10_000;
/** Limit for one request, in milliseconds. With REFUSED_MS it is less than the 30 s that the liveness probe waits. */
const ANSWERED_MS = 5_000;
/** Time between two requests until then, in milliseconds. */
const ASK_EVERY_MS = 1_000;
/** Time between two checks of namespaces that are left out, in milliseconds. */
const LOOK_EVERY_MS = 30_000;

interface Tools {
  readonly kube: Pick<KubeClient, "pages">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Namespaces in which the operator may read EtcdClusters, and those in which it may not. */
export interface Watched {
  readonly permitted: readonly string[];
  readonly refused: readonly string[];
}

/** Sorts the namespaces by the operator's right. An error other than a refusal counts as permitted. */
export async function watchedNamespaces(tools: Tools, names: readonly string[], stop: AbortSignal): Promise<Watched> {
  const { clock, log } = tools;
  const sinceMs = clock.monotonicMs();
  let refused = names;
  for (;;) {
    refused = await refusedOf(tools, refused, stop);
    if (refused.length === 0 || stop.aborted || clock.monotonicMs() - sinceMs >= REFUSED_MS) break;
    await clock.sleep(ASK_EVERY_MS, stop).catch(() => undefined); // aborted
  }
  for (const namespace of refused)
    log.warn(
      { namespace },
      "the operator leaves this namespace out: it may not list etcdclusters there. Apply its Role, or remove the namespace from --watch-namespaces",
    );
  return { permitted: names.filter((name) => !refused.includes(name)), refused };
}

/** Waits until the operator may read one of the namespaces. @returns false when the signal aborted before */
export async function untilPermitted(tools: Tools, refused: readonly string[], stop: AbortSignal): Promise<boolean> {
  while (refused.length > 0 && !stop.aborted) {
    await tools.clock.sleep(LOOK_EVERY_MS, stop).catch(() => undefined); // aborted
    const still = await refusedOf(tools, refused, stop);
    const [namespace] = refused.filter((name) => !still.includes(name));
    if (namespace === undefined || stop.aborted) continue;
    tools.log.info({ namespace }, "the operator may read this namespace now: this process ends, to start with it");
    return true;
  }
  return false;
}

async function refusedOf({ kube }: Tools, names: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
  const isRefused = async (namespace: string): Promise<boolean> => {
    try {
      await kube.pages(ETCD_CLUSTERS, { namespace, limit: 1 }, { signal, deadlineMs: ANSWERED_MS }).next();
      return false;
    } catch (thrown) {
      return hasCode(thrown, "KubeForbidden");
    }
  };
  const found = await Promise.all(names.map(async (name) => ((await isRefused(name)) ? [name] : [])));
  return found.flat();
}
