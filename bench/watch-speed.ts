import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { clusterKeysFor } from "#cluster/controller.ts";
import type { Cache } from "#kube/cache.ts";
import { KubeClient } from "#kube/client.ts";
import type { Pod } from "#kube/kinds.ts";
import type { HttpAnswer, Transport } from "#kube/transport.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import { KeyedQueue } from "#runtime/queue.ts";
import { createCaches } from "../src/bin/caches.ts";
import { podJson } from "./pods.ts";
import { until } from "./until.ts";

/** Bytes per chunk, as a socket delivers them. */
const CHUNK_BYTES = 64 * 1024;
const WORKERS = 10;

/**
 * Pod events per second, from the bytes of a watch through parser, cache and indexes to a queue with ten workers.
 * @param pods in the cache; @param events changes of these pods
 */
export async function eventsPerSecond(pods: number, events: number): Promise<number> {
  const changes = chunked(events, (n) => line("MODIFIED", podJson(n % pods, pods + n + 1)));
  const { promise: go, resolve: start } = Promise.withResolvers<void>();
  const cache = podCache(
    stateOf(pods),
    go.then(() => changes),
  );
  const queue = new KeyedQueue<Key>(systemClock, keyText);
  cache.onChange(({ object }) => clusterKeysFor(object).forEach((key) => void queue.add(key, "underWay")));
  const stop = new AbortController();
  cache.start(stop.signal);
  await cache.whenSynced(stop.signal);
  const workers = Array.from({ length: WORKERS }, () => work(queue));
  const startMs = performance.now();
  start();
  const last = BigInt(pods + events);
  await until("every event has arrived", () => (cache.seenVersion() === last && queue.depth === 0) || undefined, {
    everyMs: 1,
  });
  const elapsedSeconds = (performance.now() - startMs) / 1000;
  queue.close();
  await Promise.all(workers);
  await cache.stop();
  return events / elapsedSeconds;
}

/** Megabytes of heap that the operator's cache needs for this many pods. Requires `node --expose-gc`. */
export async function heapMbFor(pods: number): Promise<number> {
  const state = stateOf(pods);
  const cache = podCache(state, Promise.resolve([]));
  const before = heapBytes();
  const stop = new AbortController();
  cache.start(stop.signal);
  await cache.whenSynced(stop.signal);
  if (cache.list().length !== pods) throw new Error(`The cache holds ${cache.list().length} of ${pods} pods.`);
  const after = heapBytes();
  await cache.stop();
  return (after - before) / 1e6;
}

function heapBytes(): number {
  if (globalThis.gc === undefined) throw new Error("Run this program with node --expose-gc.");
  for (let round = 0; round < 3; round++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

async function work(queue: KeyedQueue<Key>): Promise<void> {
  for (let item = await queue.take(); item !== undefined; item = await queue.take()) queue.done(item.key);
}

function line(type: string, object: string): string {
  return `{"type":"${type}","object":${object}}\n`;
}

function stateOf(pods: number): readonly Buffer[] {
  const end = JSON.stringify({
    kind: "Pod",
    apiVersion: "v1",
    metadata: { resourceVersion: String(pods), annotations: { "k8s.io/initial-events-end": "true" } },
  });
  return [...chunked(pods, (n) => line("ADDED", podJson(n, n + 1))), Buffer.from(line("BOOKMARK", end))];
}

/** All lines, cut at arbitrary bytes as by a network. */
function chunked(count: number, lineOf: (n: number) => string): readonly Buffer[] {
  const bytes = Buffer.concat(Array.from({ length: count }, (_, n) => Buffer.from(lineOf(n))));
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) chunks.push(bytes.subarray(at, at + CHUNK_BYTES));
  return chunks;
}

/** The operator's own cache of pods, over a fake server that streams a state, then changes, then nothing. */
function podCache(state: readonly Buffer[], changes: Promise<readonly Buffer[]>): Cache<Pod> {
  async function* chunks(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    yield* state;
    yield* await changes;
    if (signal.aborted) return;
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }
  const answer = (signal: AbortSignal): HttpAnswer => ({
    status: 200,
    header: () => undefined,
    text: () => Promise.resolve(""),
    chunks: () => chunks(signal),
  });
  const transport: Transport = {
    send: ({ signal }) => Promise.resolve(answer(signal)),
    close: () => Promise.resolve(),
  };
  const config = {
    server: "https://scripted.invalid",
    namespace: "bench",
    origin: "bench",
    credentials: () => Promise.resolve({ tls: { verify: true } }),
  };
  const client = new KubeClient({ config, userAgent: "bench", transport });
  return createCaches(client, systemClock, silentLog).pods;
}
