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
//   An object stays stored in its old version until the next write. While objects may be stored in an old version
//   (`status.storedVersions` of the CRD), reading them takes a conversion, and the CRD cannot drop the version.
// How is an object migrated?
//   Its status is written unchanged. The API server skips a write that changes nothing in storage, but an old version
//   differs. The operator has the required permission already, and a concurrent write by another client migrates too.
// What if it fails? Nothing depends on the migration. An object that cannot be written does not stop the others. The
//   CRD's status is updated only after all succeed; otherwise the migration is retried later.

/** Time between two checks of the CRDs, in milliseconds: they change when a release is installed. */
const LOOK_EVERY_MS = 600_000;
/** Time until every API server stores the CRD's current storage version, in milliseconds. */
const SETTLE_MS = 10_000;
/** Pause between two objects, in milliseconds: the migration is not urgent, and should load the server little. */
const PAUSE_MS = 20;
/** Bound on failed objects named in the message. */
const MAX_NAMED = 10;
const RETRY: Backoff = { firstMs: 10_000, maxMs: LOOK_EVERY_MS, factor: 2, jitter: 0.3 };

interface Tools {
  readonly kube: Pick<KubeClient, "get" | "pages" | "replace">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps every object of these kinds stored in the version of the resource, until the signal aborts. Never throws. */
export async function migrateStorage(tools: Tools, kinds: readonly AnyResource[], signal: AbortSignal): Promise<void> {
  await Promise.all(kinds.map((kind) => keepMigrated(tools, kind, signal)));
}

async function keepMigrated(tools: Tools, kind: AnyResource, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    const isDone = await migrate(tools, kind, signal).then(
      () => true,
      (thrown: unknown) => logFailure(tools.log, kind, thrown, failures, signal),
    );
    failures = isDone ? 0 : failures + 1;
    const waitMs = isDone ? LOOK_EVERY_MS : delayMs(RETRY, failures - 1, Math.random());
    await tools.clock.sleep(waitMs, signal).catch(() => undefined); // aborted
  }
}

/** Checks one CRD and migrates its objects if needed. @throws OperatorError when that fails */
export async function migrate({ kube, clock, log }: Tools, kind: AnyResource, signal: AbortSignal): Promise<void> {
  const name = resourceName(kind);
  const definition = await kube.get(CUSTOM_RESOURCE_DEFINITIONS, { name }, { signal });
  const before = definition.status?.storedVersions ?? [];
  // With another storage version, another release is being installed or rolled back: do not migrate.
  if (storedIn(definition) !== kind.version || isSameData(before, [kind.version])) return;
  await clock.sleep(SETTLE_MS, signal);
  const because = `objects may be stored as ${before.join(" and ")}`;
  log.info({ resource: name, version: kind.version, because }, "rewrites every object in this storage version");
  const refs = await namesOf(kube, kind, signal);
  const failures: OperatorError[] = [];
  for (const ref of refs) {
    const failure = await rewrite(kube, kind, ref, signal);
    if (failure !== undefined) failures.push(failure);
    await clock.sleep(PAUSE_MS, signal);
  }
  const [first] = failures;
  if (first !== undefined) throw new OperatorError(first.code, sentence(failures), { cause: first });
  // The resourceVersion from the start is the precondition: if the CRD has changed since, objects may have been stored
  // in other versions.
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

/** Names of all objects. Only names, since the caches hold all objects in memory already. */
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

/** Writes the status of one object unchanged. @returns the failure, prefixed with the object's name, if any */
async function rewrite(kube: Tools["kube"], kind: AnyResource, ref: Ref, signal: AbortSignal) {
  try {
    const object = await kube.get(kind, ref, { signal });
    await kube.replace(kind, object, { signal, subresource: "status" });
  } catch (thrown) {
    // Another client has just written or deleted it, so it is no longer stored in the old version.
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

/** Logs a failure of the migration. @param before number of consecutive failures before this one */
function logFailure(log: Log, kind: AnyResource, thrown: unknown, before: number, signal: AbortSignal): false {
  if (signal.aborted) return false;
  const { code, message } = asOperatorError(thrown);
  const fields = { resource: resourceName(kind), code, error: message };
  // Other clients write the CRD too, above all during an installation: a first conflict is no warning.
  if (code === "KubeConflict" && before === 0) {
    log.info(fields, "the CRD has changed while objects were rewritten: the operator checks them again");
    return false;
  }
  log.warn(fields, "objects could not be rewritten in the current storage version: the operator tries again");
  return false;
}
