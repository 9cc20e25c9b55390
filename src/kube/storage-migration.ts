import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Clock } from "#base/clock.ts";
import { asOperatorError, hasCode, OperatorError } from "#base/error.ts";
import { isSameData } from "#base/hash.ts";
import type { Log } from "#base/log.ts";
import type { KubeClient } from "./client.ts";
import {
  type AnyResource,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type KubeObject,
  type Ref,
  resourceName,
} from "./kinds.ts";

// What is migrated?
//   An object stays in the version in which it was stored until somebody writes it. As long as one may be left in an old version
//   (`status.storedVersions` of the definition), every read of it takes a conversion, and that version can never be dropped.
// How?
//   Each object's status is written as it was read: the API server stores nothing when nothing differs, and an old version differs. It takes
//   no right that the operator lacks, changes nothing that anybody can see, and whoever writes meanwhile does the same work.
// What if it fails? Nothing depends on it. One object that cannot be written does not keep the others from it; as long as there is one, the
//   definition is left as it is, and all is begun anew after a while.

/** Between two looks at the definitions, in milliseconds: they change when a release is installed. */
const LOOK_EVERY_MS = 600_000;
/** Until every API server writes what the definition says by now, in milliseconds. */
const SETTLE_MS = 10_000;
/** Between two objects, in milliseconds: nobody is in a hurry. */
const PAUSE_MS = 20;
/** So many objects that failed are named. */
const MAX_NAMED = 10;
const RETRY: Backoff = { firstMs: 10_000, maxMs: LOOK_EVERY_MS, factor: 2, jitter: 0.3 };

interface Tools {
  readonly kube: Pick<KubeClient, "get" | "pages" | "replace">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Has every object of these kinds stored in the version of the resource, until the signal aborts. Never throws. */
export async function migrateStorage(tools: Tools, kinds: readonly AnyResource[], signal: AbortSignal): Promise<void> {
  await Promise.all(kinds.map((kind) => keepMigrated(tools, kind, signal)));
}

async function keepMigrated(tools: Tools, kind: AnyResource, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    const isDone = await migrate(tools, kind, signal).then(
      () => true,
      (thrown: unknown) => told(tools.log, kind, thrown, failures, signal),
    );
    failures = isDone ? 0 : failures + 1;
    const waitMs = isDone ? LOOK_EVERY_MS : delayMs(RETRY, failures - 1, Math.random());
    await tools.clock.sleep(waitMs, signal).catch(() => undefined); // aborted
  }
}

/** One look, and what follows from it. @throws OperatorError whatever hinders it */
export async function migrate({ kube, clock, log }: Tools, kind: AnyResource, signal: AbortSignal): Promise<void> {
  const name = resourceName(kind);
  const definition = await kube.get(CUSTOM_RESOURCE_DEFINITIONS, { name }, { signal });
  const before = definition.status?.storedVersions ?? [];
  // Another release is being installed, or taken back: what it stores is not ours to say.
  if (storedIn(definition) !== kind.version || isSameData(before, [kind.version])) return;
  await clock.sleep(SETTLE_MS, signal);
  const because = `objects may be stored as ${before.join(" and ")}`;
  log.info({ resource: name, version: kind.version, because }, "stores every object anew, in this version");
  const refs = await namesOf(kube, kind, signal);
  const failures: OperatorError[] = [];
  for (const ref of refs) {
    const failure = await storeAnew(kube, kind, ref, signal);
    if (failure !== undefined) failures.push(failure);
    await clock.sleep(PAUSE_MS, signal);
  }
  const [first] = failures;
  if (first !== undefined) throw new OperatorError(first.code, sentence(failures), { cause: first });
  // With the resourceVersion of the beginning: had the definition changed since, it would not be known what was stored meanwhile.
  const status = { ...definition.status, storedVersions: [kind.version] };
  await kube.replace(CUSTOM_RESOURCE_DEFINITIONS, { ...definition, status } as CustomResourceDefinition, {
    signal,
    subresource: "status",
  });
  log.info({ resource: name, version: kind.version, count: refs.length }, "every object is stored in this version");
}

function storedIn({ spec }: CustomResourceDefinition): string | undefined {
  return spec.versions.find(({ storage }) => storage)?.name;
}

/** Names alone are kept: a fleet's objects are in memory once already. */
async function namesOf(kube: Tools["kube"], kind: AnyResource, signal: AbortSignal): Promise<readonly Ref[]> {
  const refs: Ref[] = [];
  for await (const { items } of kube.pages<KubeObject>(kind, {}, { signal })) {
    for (const { metadata } of items ?? []) {
      const { namespace, name } = metadata;
      refs.push(namespace === undefined ? { name } : { namespace, name });
    }
  }
  return refs;
}

/** @returns what hindered it, beginning with the object's name */
async function storeAnew(kube: Tools["kube"], kind: AnyResource, ref: Ref, signal: AbortSignal) {
  try {
    const object = await kube.get(kind, ref, { signal });
    await kube.replace(kind, object, { signal, subresource: "status" });
  } catch (thrown) {
    // Somebody has just written or deleted it: then it is done.
    if (hasCode(thrown, "KubeConflict", "KubeNotFound")) return undefined;
    signal.throwIfAborted();
    const { code, message } = asOperatorError(thrown);
    const name = ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
    return new OperatorError(code, `${name}: ${message}`, { cause: thrown });
  }
  return undefined;
}

function sentence(failures: readonly OperatorError[]): string {
  const named = failures.slice(0, MAX_NAMED).map(({ message }) => message);
  return `${failures.length} of the objects failed: ${named.join("; ")}${failures.length > MAX_NAMED ? "; …" : ""}`;
}

/** @param before so many failures in a row there were before this one */
function told(log: Log, kind: AnyResource, thrown: unknown, before: number, signal: AbortSignal): false {
  if (signal.aborted) return false;
  const { code, message } = asOperatorError(thrown);
  const fields = { resource: resourceName(kind), code, error: message };
  // The definition is written by others, too, above all while a release is installed. That is nothing to warn of, unless it goes on.
  if (code === "KubeConflict" && before === 0) {
    log.info(fields, "the definition has changed while objects were stored anew: they are looked at once more");
    return false;
  }
  log.warn(fields, "objects could not be stored anew, in the version of today: it is tried again");
  return false;
}
