import type { Clock } from "#base/clock.ts";
import { isSameData } from "#base/hash.ts";
import type { KubeClient } from "#kube/client.ts";
import { apiVersionOf, type KubeObject, type Resource } from "#kube/kinds.ts";
import type { Failing } from "#runtime/conditions.ts";
import type { CacheView, Controller, Subject, Written } from "#runtime/controller.ts";
import { stored } from "#runtime/writes.ts";

// The parts of a controller that are the same for every kind: the target of its events, and writes of its status.

/** A custom resource in a namespace, with its status. */
interface Reported<Status> extends KubeObject {
  readonly metadata: KubeObject["metadata"] & { readonly namespace: string };
  readonly status?: Status | undefined;
}

interface Given<Snapshot, T extends Reported<Status>, Status extends object> {
  readonly kube: Pick<KubeClient, "replace">;
  readonly resource: Resource<T>;
  readonly cache: Pick<CacheView<T>, "get">;
  readonly clock: Pick<Clock, "wallMs">;
  readonly failing: Failing<T, Status>;
  /** The object of a snapshot. */
  readonly objectOf: (snapshot: Snapshot) => T;
}

/** The parts of a Controller that write the status of one kind, if it differs, and name its objects in events. */
export function statusWriter<Snapshot, T extends Reported<Status>, Status extends object>(
  given: Given<Snapshot, T, Status>,
): Pick<Controller<Snapshot, never, Status>, "writeStatus" | "subject" | "subjectOf" | "writeFailing"> {
  const { kube, resource, cache, clock, failing, objectOf } = given;
  const subjectFor = ({ metadata: { namespace, name, uid } }: T): Subject => ({
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    namespace,
    name,
    uid,
  });
  const write = async (object: T, status: Status, signal: AbortSignal) =>
    isSameData(status, object.status ?? {}) ? undefined : await writeStatus(kube, resource, object, status, signal);
  return {
    writeStatus: (snapshot, status, signal) => write(objectOf(snapshot), status, signal),
    subject: (snapshot) => subjectFor(objectOf(snapshot)),
    // "known": objects that were too large to cache are reported, too.
    subjectOf: (key) => {
      const object = cache.get(key, "known");
      return object && subjectFor(object);
    },
    writeFailing: async (key, because, signal, reason) => {
      const object = cache.get(key, "known");
      return object && (await write(object, failing(object, because, clock.wallMs(), reason), signal));
    },
  };
}

/** Writes the status of the object as it was read: any change since makes this a conflict. */
export async function writeStatus<T extends KubeObject & { readonly status?: object | undefined }>(
  kube: Pick<KubeClient, "replace">,
  resource: Resource<T>,
  object: T,
  status: NonNullable<T["status"]>,
  signal: AbortSignal,
): Promise<Written> {
  return stored(resource, await kube.replace<T>(resource, { ...object, status }, { signal, subresource: "status" }));
}
