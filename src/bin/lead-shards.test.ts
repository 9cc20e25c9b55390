import { expect, test } from "vitest";
import { shardLeaseName } from "#api/names.ts";
import { hasCode } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import { LeaseServer } from "#kit/servers/kube-lease-server.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { JsonPatch } from "#kube/client.ts";
import { LEASES, type Lease } from "#kube/kinds.ts";
import { type HttpAnswer, type HttpRequest, type Transport, TransportError } from "#kube/transport.ts";
import { createMetrics } from "#runtime/metrics.ts";
import { readFlags } from "./flags.ts";
import { leadShards } from "./lead-shards.ts";
import { requestTimes } from "./statistics.ts";
import type { Surroundings } from "./world.ts";

/** Event of a watch after the complete state of an empty list. */
const ALL_READ = {
  type: "BOOKMARK",
  object: { metadata: { resourceVersion: "5", annotations: { "k8s.io/initial-events-end": "true" } } },
};

/** An API server with leases and no other objects. */
class LeasesOnly implements Transport {
  /** Whether reads are answered; otherwise they hang. */
  isReadable = true;
  /** Whether the server is down: connections are refused, and open ones are cut. */
  isAway = false;
  /** Number of reads of a whole state. */
  reads = 0;
  /** Number of clients that closed their connections. */
  closes = 0;
  /** A function for each open watch that cuts it. */
  readonly watches = new Set<() => void>();
  readonly #leases = new Map<string, LeaseServer>();

  async send(request: HttpRequest): Promise<HttpAnswer> {
    const { path, body = "{}", method, signal } = request;
    if (this.isAway) throw new TransportError("connection refused", false);
    const [, at, named] = /^(.+\/namespaces\/[^/]+\/leases)\/?([^/?]*)/.exec(path) ?? [];
    if (at !== undefined) return await this.#lease(`${at}/${named || nameOf(body)}`, method, body, signal);
    if (path.includes("sendInitialEvents=true")) this.reads += 1;
    if (path.includes("watch=")) return this.isReadable ? this.#streamed(signal) : await unanswered(signal);
    return refusal(404, "NotFound");
  }

  async #lease(key: string, method: string, body: string, signal: AbortSignal): Promise<HttpAnswer> {
    const server = this.#leases.get(key) ?? new LeaseServer();
    this.#leases.set(key, server);
    const client = server.client(
      () => "arrives",
      () => Promise.resolve(),
    );
    const ref = { namespace: "default", name: "any" };
    const sent = JSON.parse(body) as Lease;
    try {
      if (method === "GET") return answer(200, await client.get(LEASES, ref, { signal }));
      if (method === "POST") return answer(201, await client.create(LEASES, sent, { signal }));
      if (method === "PUT") return answer(200, await client.replace(LEASES, sent, { signal }));
      const patch = sent as unknown as readonly JsonPatch[];
      return answer(200, await client.patch(LEASES, ref, patch, { signal, type: "json" }));
    } catch (thrown) {
      return hasCode(thrown, "KubeNotFound") ? refusal(404, "NotFound") : refusal(409, "Conflict");
    }
  }

  /** Gives the lease to this holder for an hour; the empty string frees it. */
  write(name: string, holderIdentity: string): void {
    const [, server] = [...this.#leases].find(([key]) => key.endsWith(`/${name}`)) ?? [];
    if (server?.lease === undefined) throw new Error(`there is no lease ${name}`);
    const { metadata, spec } = server.lease;
    const resourceVersion = String(Number(metadata.resourceVersion) + 1);
    const written = { ...spec, holderIdentity, leaseDurationSeconds: 3_600 };
    server.lease = { ...server.lease, metadata: { ...metadata, resourceVersion }, spec: written };
  }

  /** Response of a watch: the complete state, and then nothing more. */
  #streamed(signal: AbortSignal): HttpAnswer {
    const { promise: cut, reject } = Promise.withResolvers<never>();
    cut.catch(() => undefined);
    const watch = (): void => reject(new TransportError("connection reset", true));
    this.watches.add(watch);
    signal.addEventListener("abort", () => this.watches.delete(watch), { once: true });
    return answer(200, {}, async function* () {
      yield Buffer.from(`${JSON.stringify(ALL_READ)}\n`);
      await Promise.race([unanswered(signal), cut]);
    });
  }

  /** Takes the server down. */
  leave(): void {
    this.isAway = true;
    for (const cut of this.watches) cut();
    this.watches.clear();
  }

  close(): Promise<void> {
    this.closes += 1;
    return Promise.resolve();
  }
}

function nameOf(body: string): string {
  return (JSON.parse(body) as Lease).metadata.name;
}

function answer(status: number, body: object, chunks: HttpAnswer["chunks"] = () => streamOf(JSON.stringify(body))) {
  return { status, header: () => undefined, text: () => Promise.resolve(JSON.stringify(body)), chunks };
}

function refusal(code: number, reason: string): HttpAnswer {
  return answer(code, { kind: "Status", apiVersion: "v1", status: "Failure", reason, code, details: { name: "any" } });
}

async function* streamOf(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield await Promise.resolve(Buffer.from(text));
}

function unanswered(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  });
}

function setUp() {
  const [clock, server, stop] = [new FakeClock(), new LeasesOnly(), new AbortController()];
  const metrics = createMetrics();
  let clients = 0;
  const surroundings = {
    flags: readFlags(["--shards", "2", "--operator-namespace", "kube-system"], {}),
    config: { server: "https://apiserver" },
    wires: {
      kube: () => {
        clients += 1;
        return server;
      },
      etcd: (client: unknown) => client,
    },
    metrics,
    times: requestTimes(metrics.registry),
    onBackupEnd: () => undefined,
    clock,
    log: silentLog,
    stop: stop.signal,
  } as unknown as Surroundings;
  const lead = leadShards(surroundings);
  const done = lead.run();
  const end = async (): Promise<void> => {
    stop.abort();
    await clock.advance(30_000);
    await done;
    await lead.close();
  };
  const seen = () => ({
    led: lead.leads().map(({ isLed }) => isLed),
    mayAct: lead.mayActForAll(),
    isStarting: lead.isStarting(),
    faults: [...lead.ready(), ...lead.alive()].flatMap(({ fault }) => fault() ?? []),
  });
  return { clock, server, seen, end, made: () => clients };
}

test("a process leads a shard when it holds the shard's lease and has read its state", async () => {
  const { clock, seen, end } = setUp();
  await clock.advance(15_000);
  expect(seen()).toEqual({ led: [true, true], mayAct: true, isStarting: false, faults: [] });
  await end();
});

test("a process that cannot read its shards' state gives them back, and is unready while another process leads them", async () => {
  const { clock, server, seen, end } = setUp();
  server.isReadable = false;
  await clock.advance(9_000);
  const unread = "has not read the whole state of its shards yet";
  expect(seen()).toEqual({ led: [false, false], mayAct: true, isStarting: true, faults: [unread] });
  await clock.advance(50_000);
  expect(seen()).toEqual({ led: [false, false], mayAct: true, isStarting: true, faults: [] });
  await clock.advance(30_000);
  expect(seen()).toEqual({ led: [false, false], mayAct: false, isStarting: true, faults: [] });
  for (const shard of [0, 1]) server.write(shardLeaseName(shard), "other");
  await clock.advance(3_000);
  expect(seen().faults).toEqual(["could not read the whole state of shard 0, 1, and gave it back"]);
  for (const shard of [0, 1]) server.write(shardLeaseName(shard), "");
  await clock.advance(3_000);
  expect(seen().faults).toEqual([]);
  server.isReadable = true;
  await clock.advance(60_000);
  expect(seen()).toEqual({ led: [true, true], mayAct: true, isStarting: false, faults: [] });
  await end();
});

test("a process that leads a shard again does not read its state again", async () => {
  const { clock, server, seen, end } = setUp();
  await clock.advance(15_000);
  const { reads } = server;
  for (const shard of [0, 1]) server.write(shardLeaseName(shard), "other");
  await clock.advance(5_000);
  expect(seen().led).toEqual([false, false]);
  for (const shard of [0, 1]) server.write(shardLeaseName(shard), "");
  await clock.advance(10_000);
  expect(seen()).toEqual({ led: [true, true], mayAct: true, isStarting: false, faults: [] });
  expect(server.reads).toBe(reads);
  await end();
});

test.each([12_000, 20_000, 30_000, 50_000])(
  "after an API server outage of %d ms a shard's watches are connected again, and its state is not read again",
  async (awayMs) => {
    const { clock, server, seen, end } = setUp();
    await clock.advance(15_000);
    const { reads, watches } = server;
    const all = watches.size;
    expect(all).toBeGreaterThan(20);
    server.leave();
    await clock.advance(awayMs);
    expect([seen().led, watches.size]).toEqual([[false, false], 0]);
    server.isAway = false;
    for (let n = 0; n < 200 && !seen().led.every(Boolean); n++) await clock.advance(100);
    expect([seen().led, watches.size, server.reads]).toEqual([[true, true], all, reads]);
    await end();
  },
);

test("the caches of a shard that another process leads are closed within a minute", async () => {
  const { clock, server, made, end } = setUp();
  await clock.advance(15_000);
  const all = server.watches.size;
  const until = async (seconds: number): Promise<void> => {
    for (let n = 0; n < seconds; n++) {
      server.write(shardLeaseName(1), "other"); // Another process keeps it.
      await clock.advance(1_000);
    }
  };
  await until(30);
  expect(server.watches.size).toBe(all);
  await until(40);
  expect(server.watches.size).toBe(all / 2);
  await end();
  expect([server.watches.size, server.closes]).toEqual([0, made()]);
});
