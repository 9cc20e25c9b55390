import type { Clock } from "#base/clock.ts";
import { asOperatorError, hasCode } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import type { KubeClient } from "#kube/client.ts";
import type { AnyResource } from "#kube/kinds.ts";

// What if the operator lacks its Role in a namespace of --watch-namespaces?
//   A namespace that was deleted and created again has lost it. Caches that wait for that namespace would keep the
//   operator from managing all others. So a process leaves such a namespace out from its start on.
// Why is a namespace left out as a whole?
//   With the rights to some kinds only, an EtcdCluster would look as if it had no members.
// Why are all kinds asked for?
//   An administrator of the namespace may edit the Role. One cache without its right stops the operator everywhere.
// How does it come back? The process ends when it has the rights, and is started again with that namespace.

/**
 * Milliseconds of refusals after which the right counts as missing. An API server that starts refuses
 * requests for moments, until it has read its RBAC objects.
 */
const REFUSED_MS = 10_000;
/** Time between two requests until then, in milliseconds. Smaller: more load on an API server that has just started. */
const ASK_EVERY_MS = 2_000;
/** Time between two checks of namespaces that are left out, in milliseconds. */
const LOOK_EVERY_MS = 30_000;

interface Tools {
  readonly kube: Pick<KubeClient, "pages" | "watch">;
  /** Kinds that the operator must be able to list and watch. */
  readonly kinds: readonly AnyResource[];
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the number of namespaces that are left out. */
  readonly report: (leftOut: number) => void;
}

/** Namespaces in which the operator may read all of its kinds, and those in which it may not. */
export interface Watched {
  readonly permitted: readonly string[];
  readonly refused: readonly string[];
}

/**
 * Sorts the namespaces by the operator's rights. Waits until the API server has answered for each of them, and permits
 * one at least. @returns undefined when the signal aborted before
 */
export async function watchedNamespaces(
  tools: Tools,
  names: readonly string[],
  stop: AbortSignal,
): Promise<Watched | undefined> {
  const { clock, log } = tools;
  const beganMs = clock.monotonicMs();
  const permitted = new Set<string>();
  const refusedSinceMs = new Map<string, number>();
  const warned = new Set<string>();
  const warnOnce = ({ namespace, error }: Answer, message: string): void => {
    if (!warned.has(message + namespace)) log.warn({ namespace, error }, message);
    warned.add(message + namespace);
  };
  for (;;) {
    const asked = names.filter((name) => !permitted.has(name));
    const answers = await answersIn(tools, asked, stop);
    if (stop.aborted) return undefined;
    const nowMs = clock.monotonicMs();
    let isSettled = true;
    let leftOut = 0;
    for (const answer of answers) {
      const { namespace, is } = answer;
      if (is !== "refused") refusedSinceMs.delete(namespace);
      else if (!refusedSinceMs.has(namespace)) refusedSinceMs.set(namespace, nowMs);
      const refusedMs = nowMs - (refusedSinceMs.get(namespace) ?? nowMs);
      if (is === "permitted") permitted.add(namespace);
      else if (refusedMs >= REFUSED_MS) {
        leftOut += 1;
        warnOnce(answer, LEFT_OUT);
      } else isSettled = false;
      if (is === "unknown" && nowMs - beganMs >= REFUSED_MS) warnOnce(answer, UNKNOWN);
    }
    tools.report(leftOut);
    if (isSettled && permitted.size > 0) break;
    await clock.sleep(ASK_EVERY_MS, stop).catch(() => undefined); // aborted
  }
  const isPermitted = (name: string): boolean => permitted.has(name);
  return { permitted: names.filter(isPermitted), refused: names.filter((name) => !isPermitted(name)) };
}

const LEFT_OUT =
  "the operator leaves this namespace out: it may not read all of its kinds there. Apply its Role, or remove the namespace from --watch-namespaces";
const UNKNOWN =
  "the operator does not know whether it may read this namespace. It manages no cluster until the API server answers";

/** Waits until the operator may read one of the namespaces. @returns false when the signal aborted before */
export async function untilPermitted(tools: Tools, refused: readonly string[], stop: AbortSignal): Promise<boolean> {
  while (refused.length > 0 && !stop.aborted) {
    await tools.clock.sleep(LOOK_EVERY_MS, stop).catch(() => undefined); // aborted
    if (stop.aborted) break;
    const answers = await answersIn(tools, refused, stop);
    const found = answers.find(({ is }) => is === "permitted");
    if (found === undefined) continue;
    const { namespace } = found;
    tools.log.info({ namespace }, "the operator may read this namespace now: this process ends, to start with it");
    return true;
  }
  return false;
}

interface Answer {
  readonly namespace: string;
  readonly is: "permitted" | "refused" | "unknown";
  readonly error: string;
}

async function answersIn(tools: Tools, names: readonly string[], stop: AbortSignal): Promise<readonly Answer[]> {
  return await Promise.all(names.map((name) => answerIn(tools, name, stop)));
}

/** Only success counts as permission: an API server that is overloaded or has just started refuses nothing yet. */
async function answerIn({ kube, kinds }: Tools, namespace: string, stop: AbortSignal): Promise<Answer> {
  try {
    for (const kind of kinds) await read(kube, kind, namespace, stop);
    return { namespace, is: "permitted", error: "" };
  } catch (thrown) {
    const is = hasCode(thrown, "KubeForbidden") ? "refused" : "unknown";
    return { namespace, is, error: asOperatorError(thrown).message };
  }
}

/** Lists one object, and opens a watch. @throws the error of the first request that fails */
async function read(kube: Tools["kube"], kind: AnyResource, namespace: string, stop: AbortSignal): Promise<void> {
  const { value } = await kube.pages(kind, { namespace, limit: 1 }, { signal: stop }).next();
  const resourceVersion = value?.metadata.resourceVersion ?? "0";
  const opened = new AbortController();
  const options = { signal: AbortSignal.any([stop, opened.signal]), onOpen: () => opened.abort() };
  try {
    await kube.watch(kind, { namespace, resourceVersion, timeoutSeconds: 1 }, options).next();
  } catch (thrown) {
    if (!opened.signal.aborted) throw thrown;
  }
}
