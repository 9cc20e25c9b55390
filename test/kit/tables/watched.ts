import { Cache } from "#kube/cache.ts";
import { KubeClient } from "#kube/client.ts";
import { defaultConfig } from "#kube/config.ts";
import type { KubeObject, Resource } from "#kube/kinds.ts";

/**
 * Follows all objects of a kind in a namespace with a watch. Polling would miss objects that exist for less than a
 * second. `await using` ends it.
 * @returns every state of each object, from now on
 */
export async function watched<T extends KubeObject>(
  resource: Resource<T>,
  namespace: string,
): Promise<{ readonly seen: readonly T[] } & AsyncDisposable> {
  const kube = new KubeClient({ config: await defaultConfig(), userAgent: "test-watch" });
  const cache = new Cache<T>({ client: kube, resource, namespace });
  const seen: T[] = [];
  cache.onChange(({ object }) => void seen.push(object));
  const stop = new AbortController();
  cache.start(stop.signal);
  await cache.whenSynced(stop.signal);
  return {
    seen,
    [Symbol.asyncDispose]: async () => {
      await cache.stop();
      await kube.close();
    },
  };
}
