import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Clock } from "#base/clock.ts";
import { type FaultProxy, startFaultProxy } from "#kit/servers/fault-proxy.ts";
import { allOf } from "#kit/servers/kube-stream.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { KubeClient, type Observation } from "#kube/client.ts";
import type { KubeConfig } from "#kube/config.ts";
import { type Draft, PODS, type Pod } from "#kube/kinds.ts";
import { httpTransport } from "#kube/transport.ts";

// The real behaviour of Node's client and of TCP, which a scripted transport only imitates.

const { signal } = new AbortController();
const ref = { namespace: "default", name: "x" };
const draft: Draft<Pod> = { apiVersion: "v1", kind: "Pod", metadata: ref };
const pod = { ...draft, metadata: { ...ref, uid: "u", resourceVersion: "7" } };
type Handler = (request: IncomingMessage, response: ServerResponse, number: number) => void;

let server: Server;
let proxy: FaultProxy;
let handle: Handler;
let requests: number;
let observed: Observation[];
let kube: KubeClient;

beforeEach(async () => {
  requests = 0;
  observed = [];
  server = createServer((request, response) => handle(request, response, ++requests));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  proxy = await startFaultProxy(portOf(server));
  kube = clientOn(proxy.port);
});
afterEach(async () => {
  await kube.close();
  await proxy.stop();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

function portOf(of: Server): number {
  return (of.address() as { port: number }).port;
}

/** @param clock measures which calls take long */
function clientOn(port: number, mayChange = () => true, clock?: Clock): KubeClient {
  const tls = { verify: true };
  const config: KubeConfig = {
    server: `http://127.0.0.1:${port}/prefix`,
    namespace: "default",
    origin: "test",
    credentials: () => Promise.resolve({ tls, token: "secret" }),
  };
  const transport = httpTransport(config, {}, clock);
  return new KubeClient({ config, userAgent: "test/1", observer: (each) => observed.push(each), mayChange, transport });
}

async function withClient(client: KubeClient, use: (client: KubeClient) => Promise<void>): Promise<void> {
  try {
    await use(client);
  } finally {
    await client.close();
  }
}

const ok: Handler = (_request, response) => void response.end(JSON.stringify(pod));
const codes = (): string[] => observed.map(({ code }) => code);

describe("requests of a process that has lost its lease", () => {
  test("may read and release the lease, and are refused before sending if they write", async () => {
    handle = ok;
    await withClient(
      clientOn(proxy.port, () => false),
      async (late) => {
        await expect(late.create(PODS, draft, { signal })).rejects.toMatchObject({ code: "LeaseLost" });
        await expect(late.delete(PODS, ref, { signal, preconditions: { uid: "u" } })).rejects.toMatchObject({
          code: "LeaseLost",
        });
        expect(requests).toBe(0);
        expect(codes()).toEqual(["unsent", "unsent"]);
        await late.get(PODS, ref, { signal });
        await late.replace(PODS, pod, { signal, priority: "high" });
        expect(requests).toBe(2);
      },
    );
  });

  test("are not sent when the lease is lost while they wait for a connection", async () => {
    handle = ok;
    let isLeader = true;
    let asked = 0;
    const mayChange = (): boolean => {
      asked += 1;
      return isLeader;
    };
    await withClient(clientOn(proxy.port, mayChange), async (late) => {
      const call = late.create(PODS, draft, { signal });
      expect(asked).toBe(0);
      isLeader = false;
      await expect(call).rejects.toMatchObject({ code: "LeaseLost" });
      expect({ asked, requests }).toEqual({ asked: 1, requests: 0 });
    });
  });
});

describe("requests", () => {
  test("contain token, user agent and path of the server, and share connections", async () => {
    const seen: unknown[] = [];
    handle = (request, response, number) => {
      seen.push([request.url, request.headers.authorization, request.headers["user-agent"]]);
      ok(request, response, number);
    };
    for (let n = 0; n < 50; n++) await kube.get(PODS, ref, { signal });
    expect(seen[0]).toEqual(["/prefix/api/v1/namespaces/default/pods/x", "Bearer secret", "test/1"]);
    expect(proxy.opened).toBeLessThanOrEqual(2);
  });

  test("share few connections when they are answered quickly", async () => {
    handle = (request, response, number) => setTimeout(() => ok(request, response, number), 20);
    // This clock stands still: no call takes long, however busy the machine is.
    await withClient(clientOn(proxy.port, undefined, new FakeClock()), async (client) => {
      await Promise.all(Array.from({ length: 400 }, () => client.get(PODS, ref, { signal, deadlineMs: 60_000 })));
    });
    // The client may read an answer before its connection is free again.
    expect(proxy.opened).toBeGreaterThanOrEqual(32);
    expect(proxy.opened).toBeLessThanOrEqual(40);
  });

  test.each([
    ["are at most 256", (n: number) => `of-${n}`, 256],
    ["are at most 171 for one namespace", () => "default", 171],
  ])("that hang cause more connections, which %s", async (_, namespaceOf, most) => {
    handle = () => undefined;
    const stop = new AbortController();
    const options = { signal: stop.signal, deadlineMs: 60_000 };
    const ask = (_: unknown, n: number) => kube.get(PODS, { ...ref, namespace: namespaceOf(n) }, options);
    const hanging = Array.from({ length: 400 }, ask).map((call) => call.catch(() => undefined));
    await expect.poll(() => proxy.opened, { timeout: 60_000 }).toBe(most);
    await new Promise((done) => setTimeout(done, 1_500));
    expect(proxy.opened).toBe(most);
    stop.abort();
    await Promise.all(hanging);
  });

  test("that wait for a connection end at their deadline, or at once when cancelled", async () => {
    handle = () => undefined;
    const hanging = Array.from({ length: 256 }, () => kube.get(PODS, ref, { signal }).catch(() => undefined));
    const startMs = performance.now();
    const late = kube.get(PODS, ref, { signal, deadlineMs: 300 });
    await expect(late).rejects.toMatchObject({ code: "KubeUnavailable", message: expect.stringContaining("300 ms") });
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 50);
    await expect(kube.get(PODS, ref, { signal: stop.signal })).rejects.toMatchObject({ code: "Cancelled" });
    expect(performance.now() - startMs).toBeLessThan(3_000);
    await kube.close();
    await Promise.all(hanging);
  });

  test("for leases do not wait for hanging requests for leases", async () => {
    handle = (request, response, number) => (number > 17 ? ok(request, response, number) : undefined);
    const urgent = { signal, priority: "high", deadlineMs: 2_000 } as const;
    const hanging = Array.from({ length: 17 }, () => kube.get(PODS, ref, urgent).catch(() => undefined));
    await expect.poll(() => requests).toBe(17);
    const startMs = performance.now();
    await kube.get(PODS, ref, urgent);
    expect(performance.now() - startMs).toBeLessThan(1_000);
    await kube.close();
    await Promise.all(hanging);
  });

  test("that were certainly not sent are retried, even a create", async () => {
    const port = portOf(server);
    handle = ok;
    await proxy.stop();
    await new Promise((done) => server.close(done));
    const lonely = clientOn(port);
    const call = lonely.create(PODS, draft, { signal });
    setTimeout(() => server.listen(port, "127.0.0.1"), 400);
    expect((await call).metadata.uid).toBe("u");
    expect(codes().slice(-2)).toEqual(["unsent", "200"]);
    expect(requests).toBe(1);
    await lonely.close();
    proxy = await startFaultProxy(port); // for afterEach
  });

  test("are retried after a broken connection only if they are reads", async () => {
    handle = (request, response, number) =>
      number === 1 ? void request.socket.destroy() : ok(request, response, number);
    await expect(kube.create(PODS, draft, { signal })).rejects.toMatchObject({ code: "KubeUnavailable" });
    expect(requests).toBe(1);
    requests = 0;
    await kube.get(PODS, ref, { signal });
    expect(requests).toBe(2);
    expect(codes()).toEqual(["broken", "broken", "200"]);
  });

  test("fail when their response is cut off", async () => {
    handle = (_request, response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write('{"kind":');
      setTimeout(() => response.destroy(), 20);
    };
    const call = kube.create(PODS, draft, { signal });
    await expect(call).rejects.toMatchObject({
      code: "KubeUnavailable",
      message: expect.stringContaining("create pods"),
    });
  });

  test("fail at their deadline on a frozen connection, and the next request uses a new connection", async () => {
    handle = ok;
    await Promise.all([kube.get(PODS, ref, { signal }), kube.get(PODS, ref, { signal })]);
    const before = proxy.opened;
    proxy.freeze();
    const startMs = performance.now();
    const frozen = kube.get(PODS, ref, { signal, deadlineMs: 300 });
    await expect(frozen).rejects.toMatchObject({ code: "KubeUnavailable", message: expect.stringContaining("300 ms") });
    expect(performance.now() - startMs).toBeLessThan(1_000);
    proxy.thaw();
    await kube.get(PODS, ref, { signal, deadlineMs: 1_000 });
    expect(proxy.opened).toBeGreaterThan(before);
  });

  test("end at their deadline even if the head arrived and the body does not", async () => {
    handle = (_request, response) => {
      response.writeHead(200);
      response.write("{");
    };
    const call = kube.get(PODS, ref, { signal, deadlineMs: 300 });
    await expect(call).rejects.toMatchObject({ code: "KubeUnavailable", message: expect.stringContaining("300 ms") });
  });

  test("that are cancelled end at once", async () => {
    handle = () => undefined;
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 50);
    await expect(kube.get(PODS, ref, { signal: stop.signal })).rejects.toMatchObject({ code: "Cancelled" });
  });

  test("fail when the client is closed", async () => {
    handle = () => undefined;
    const call = expect(kube.create(PODS, draft, { signal })).rejects.toMatchObject({ code: "KubeUnavailable" });
    await new Promise((done) => setTimeout(done, 50));
    const startMs = performance.now();
    await kube.close();
    await call;
    expect(performance.now() - startMs).toBeLessThan(1_000);
    await expect(kube.get(PODS, ref, { signal, deadlineMs: 500 })).rejects.toMatchObject({ code: "Cancelled" });
  });
});

describe("watches", () => {
  const event = (resourceVersion: string): string =>
    `${JSON.stringify({ type: "ADDED", object: { ...pod, metadata: { ...pod.metadata, resourceVersion } } })}\n`;

  test("end normally when the server ends them between two events", async () => {
    handle = (_request, response) => void response.end(event("1") + event("2"));
    const events = await allOf(kube.watch(PODS, { timeoutSeconds: 5 }, { signal }));
    expect(events).toHaveLength(2);
  });

  for (const how of ["end", "destroy"] as const) {
    test(`fail when the server ${how}s them within an event, after earlier events are delivered`, async () => {
      handle = (_request, response) => {
        response.write(event("1") + event("2").slice(0, 20));
        setTimeout(() => response[how](), 20);
      };
      const told: unknown[] = [];
      const reading = (async () => {
        for await (const each of kube.watch(PODS, { timeoutSeconds: 5 }, { signal })) told.push(each);
      })();
      await expect(reading).rejects.toMatchObject({ code: "KubeUnavailable" });
      expect(told).toHaveLength(1);
    });
  }

  test("continue after the deadline for their head, and end at once when their signal is aborted", async () => {
    handle = (_request, response) => {
      response.write(event("1"));
      setTimeout(() => response.write(event("2")), 400);
    };
    const stop = new AbortController();
    const watch = kube.watch(PODS, { timeoutSeconds: 5 }, { signal: stop.signal, deadlineMs: 200 });
    expect((await watch.next()).done).toBe(false);
    expect((await watch.next()).done).toBe(false);
    setTimeout(() => stop.abort(), 20);
    await expect(watch.next()).rejects.toMatchObject({ code: "Cancelled" });
  });

  test("fail at the deadline if no head arrives", async () => {
    handle = () => undefined;
    const watch = kube.watch(PODS, { timeoutSeconds: 5 }, { signal, deadlineMs: 200 });
    await expect(watch.next()).rejects.toMatchObject({ code: "KubeUnavailable" });
  });

  test("close their connection when the reader stops", async () => {
    const closed = Promise.withResolvers<void>();
    handle = (request, response) => {
      request.socket.on("close", () => closed.resolve());
      response.write(event("1"));
    };
    const watch = kube.watch(PODS, { timeoutSeconds: 5 }, { signal });
    await watch.next();
    await watch.return();
    await closed.promise;
  });

  test("do not use up the connections for other requests", async () => {
    handle = (request, response, number) =>
      request.url?.includes("watch=1") ? void response.write(event("1")) : ok(request, response, number);
    const watches = Array.from({ length: 40 }, () => kube.watch(PODS, { timeoutSeconds: 5 }, { signal }));
    await Promise.all(watches.map((watch) => watch.next()));
    expect((await kube.get(PODS, ref, { signal, deadlineMs: 1_000 })).metadata.uid).toBe("u");
    await Promise.all(watches.map((watch) => watch.return()));
  });
});
