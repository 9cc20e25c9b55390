import { hasCode } from "#base/error.ts";
import type { KubeClient } from "./client.ts";
import type { KubeObject, NamespacedMeta, Ref, Resource } from "./kinds.ts";

// Reads right before a write: a cache may be stale, and not every write has a precondition that would fail.
// docs/adr/0039

type Reads = Pick<KubeClient, "get">;

/** Object of this name on the API server; undefined: NotFound. @throws OperatorError like `get`, except KubeNotFound */
export async function liveAt<T extends KubeObject>(
  kube: Reads,
  resource: Resource<T>,
  ref: Ref,
  signal: AbortSignal,
): Promise<T | undefined> {
  try {
    return await kube.get(resource, ref, { signal });
  } catch (thrown) {
    if (hasCode(thrown, "KubeNotFound")) return undefined;
    throw thrown;
  }
}

/**
 * Object with this uid on the API server; undefined: it is gone, or another object has its name.
 * @throws OperatorError like `get`, except KubeNotFound
 */
export async function liveOf<T extends KubeObject & { readonly metadata: NamespacedMeta }>(
  kube: Reads,
  resource: Resource<T>,
  { metadata: { namespace, name, uid } }: T,
  signal: AbortSignal,
): Promise<T | undefined> {
  const live = await liveAt(kube, resource, { namespace, name }, signal);
  return live?.metadata.uid === uid ? live : undefined;
}
