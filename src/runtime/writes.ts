import type { KubeClient } from "#kube/client.ts";
import {
  JOBS,
  type Job,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  type Resource,
} from "#kube/kinds.ts";
import type { Written } from "#runtime/controller.ts";

// Writes that more than one controller makes, each with its precondition.

type Namespaced = KubeObject & { readonly metadata: { readonly namespace: string } };

export function stored<T extends KubeObject>(resource: Resource<T>, object: T): Written {
  return { kind: "stored", resource, object };
}

/** Patches metadata of the object. Preconditions are its uid and resourceVersion: any change since then is a conflict. */
export async function patchMetadata<T extends KubeObject>(
  kube: Pick<KubeClient, "patch">,
  resource: Resource<T>,
  { metadata: { namespace, name, uid, resourceVersion } }: Namespaced,
  metadata: object,
  signal: AbortSignal,
): Promise<Written> {
  const options = { signal, type: "merge" as const, preconditions: { uid, resourceVersion } };
  return stored(resource, await kube.patch(resource, { namespace, name }, { metadata }, options));
}

/** Patches this object only in the version that was read, so that a finalizer of another controller is never lost. */
export async function patchFinalizers<T extends Namespaced>(
  kube: Pick<KubeClient, "patch">,
  resource: Resource<T>,
  object: T,
  finalizers: readonly string[],
  signal: AbortSignal,
): Promise<Written> {
  return await patchMetadata(kube, resource, object, { finalizers }, signal);
}

/** Deletes the claim. Preconditions are its uid and resourceVersion: a claim that was annotated since then stays. */
export async function deleteClaim(
  kube: Pick<KubeClient, "delete">,
  { metadata: { namespace, name, uid, resourceVersion } }: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<Written> {
  const ref = { namespace, name };
  await kube.delete(PERSISTENT_VOLUME_CLAIMS, ref, { signal, preconditions: { uid, resourceVersion } });
  return { kind: "deleted", resource: PERSISTENT_VOLUME_CLAIMS, ref, uid };
}

/** Deletes this pod; a new one may have the same name. */
export async function deletePod(
  kube: Pick<KubeClient, "delete">,
  { metadata }: Pod,
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid } = metadata;
  await kube.delete(PODS, { namespace, name }, { signal, preconditions: { uid } });
  return { kind: "deleted", resource: PODS, ref: { namespace, name }, uid };
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
