import { hasCode } from "#base/error.ts";
import type { KubeClient } from "./client.ts";
import type { KubeObject, NamespacedMeta, Ref, Resource } from "./kinds.ts";

// What is asked right before a write: a cache may be behind, and not every write has a precondition that would tell (docs/adr/0039).

type Reads = Pick<KubeClient, "get">;

/** What the API server has under this name by now; undefined: nothing. @throws OperatorError as `get`, when it does not say so */
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

/** This very object as the API server has it by now; undefined: it is gone, or another one has its name. @throws OperatorError as `get`, when it does not say so */
export async function liveOf<T extends KubeObject & { readonly metadata: NamespacedMeta }>(
  kube: Reads,
  resource: Resource<T>,
  { metadata: { namespace, name, uid } }: T,
  signal: AbortSignal,
): Promise<T | undefined> {
  const live = await liveAt(kube, resource, { namespace, name }, signal);
  return live?.metadata.uid === uid ? live : undefined;
}
