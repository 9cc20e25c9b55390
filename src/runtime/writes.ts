import type { KubeClient } from "#kube/client.ts";
import { JOBS, type Job, type KubeObject, type Resource } from "#kube/kinds.ts";
import type { Written } from "#runtime/controller.ts";

// Writes that more than one controller makes, each with its precondition.

export function stored<T extends KubeObject>(resource: Resource<T>, object: T): Written {
  return { kind: "stored", resource, object };
}

/** Patches this object only in the version that was read, so that a finalizer of another controller is never lost. */
export async function patchFinalizers<T extends KubeObject & { metadata: { namespace: string } }>(
  kube: Pick<KubeClient, "patch">,
  resource: Resource<T>,
  { metadata }: T,
  finalizers: readonly string[],
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const options = { signal, type: "merge" as const, preconditions: { uid, resourceVersion } };
  const patch = { metadata: { finalizers } };
  return stored(resource, await kube.patch(resource, { namespace, name }, patch, options));
}

/** Deletes a Job and its pods. The uid is a precondition: a new Job may have the same name. */
export async function deleteJob(
  kube: Pick<KubeClient, "delete">,
  { metadata }: Job,
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid } = metadata;
  await kube.delete(JOBS, { namespace, name }, { signal, preconditions: { uid }, propagation: "Background" });
  return { kind: "deleted", resource: JOBS, ref: { namespace, name }, uid };
}
