import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { Cache } from "#kube/cache.ts";
import type { Reader } from "#kube/client.ts";
import { SECRETS, type Secret } from "#kube/kinds.ts";

const { signal } = new AbortController();
const namespace = "default";
let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer(["--feature-gates=WatchList=false"]);
});
afterAll(async () => await server?.stop());

async function create(name: string): Promise<void> {
  const draft = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace } };
  await server.client.create(SECRETS, draft, { signal });
}

test("if the API server does not stream the initial state, the cache lists it page by page and then watches", async () => {
  for (let n = 0; n < 7; n++) await create(`before-${n}`);
  const client: Reader = {
    list: (resource, query, options) => server.client.list(resource, { ...query, limit: 2 }, options),
    watch: (resource, query, options) => server.client.watch(resource, query, options),
  };
  const cache = new Cache<Secret>({ client, resource: SECRETS, namespace });
  cache.start(signal);
  try {
    await cache.whenSynced(signal);
    expect(cache.list()).toHaveLength(7);
    expect(cache.stats).toMatchObject({ syncs: 1, restarts: { "watchlist-refused": 1 } });
    await create("after");
    await vi.waitFor(() => expect(cache.get({ namespace, name: "after" })).toBeDefined(), 5_000);
    expect(cache.stats).toMatchObject({ syncs: 1, restarts: { "watchlist-refused": 1 } });
  } finally {
    await cache.stop();
  }
});
