import { describe, expect, test } from "vitest";
import { allOf } from "#kit/servers/kube-stream.ts";
import { type Script, ScriptedTransport } from "#kit/servers/kube-transport.ts";
import { NODES } from "#kit/tables/kinds.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { KubeClient, type Observation } from "./client.ts";
import type { KubeConfig } from "./config.ts";
import { type Draft, PODS, type Pod } from "./kinds.ts";

const config: KubeConfig = {
  server: "https://example.com",
  namespace: "default",
  origin: "test",
  credentials: () => Promise.resolve({ tls: { verify: true } }),
};
const ref = { namespace: "default", name: "x" };
const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...ref, uid: "u1", resourceVersion: "7" } };
const draft: Draft<Pod> = { apiVersion: "v1", kind: "Pod", metadata: ref };
const ok: Script = { status: 200, body: pod };
const unavailable: Script = { status: 503 };
const throttled: Script = { status: 429, headers: { "retry-after": "1" } };
const unauthorized: Script = { status: 401, body: { kind: "Status", reason: "Unauthorized" } };
/** A transport in which a request never gets its turn. */
const waits: Script = { turn: new Promise<never>(() => undefined) };
const never = new AbortController().signal;
const options = { signal: never };

function setUp(...scripts: readonly Script[]) {
  const clock = new FakeClock();
  const transport = new ScriptedTransport(...scripts);
  const observed: Observation[] = [];
  const kube = new KubeClient({
    config,
    userAgent: "test/1",
    clock,
    transport,
    observer: (each) => observed.push(each),
  });
  /** Advances the clock until the call has ended. @returns its result, or the code of its error */
  async function end(call: Promise<unknown>): Promise<unknown> {
    const ended = call.catch((thrown: { code?: string }) => thrown.code ?? thrown);
    await clock.advance(60_000);
    return await ended;
  }
  return { kube, clock, transport, observed, end };
}

const guarded = { ...options, preconditions: { uid: "u1", resourceVersion: "7" } };
const calls: Record<string, (kube: KubeClient) => Promise<unknown>> = {
  get: (kube) => kube.get(PODS, ref, options),
  create: (kube) => kube.create(PODS, draft, options),
  apply: (kube) => kube.apply(PODS, draft, { ...options, force: true }),
  replace: (kube) => kube.replace(PODS, pod, options),
  "patch with version": (kube) => kube.patch(PODS, ref, {}, { ...guarded, type: "merge" }),
  "patch without version": (kube) => kube.patch(PODS, ref, {}, { ...options, type: "merge" }),
  delete: (kube) => kube.delete(PODS, ref, { ...options, preconditions: { uid: "u1" } }),
};

// How often each call is sent when the first attempt fails in this way and the second would succeed.
const repeats: { verb: string; after: Record<string, number> }[] = [
  {
    verb: "get",
    after: { unsent: 2, broken: 2, unavailable: 2, throttled: 2, "throttled without a time": 2, refused: 1 },
  },
  {
    verb: "create",
    after: { unsent: 2, broken: 1, unavailable: 1, throttled: 1, "throttled without a time": 1, refused: 1 },
  },
  {
    verb: "apply",
    after: { unsent: 2, broken: 1, unavailable: 1, throttled: 2, "throttled without a time": 1, refused: 1 },
  },
  {
    verb: "replace",
    after: { unsent: 2, broken: 1, unavailable: 1, throttled: 2, "throttled without a time": 1, refused: 1 },
  },
  {
    verb: "patch with version",
    after: { unsent: 2, broken: 1, unavailable: 1, throttled: 2, "throttled without a time": 1, refused: 1 },
  },
  {
    verb: "patch without version",
    after: { unsent: 2, broken: 1, unavailable: 1, throttled: 1, "throttled without a time": 1, refused: 1 },
  },
  {
    verb: "delete",
    after: { unsent: 2, broken: 1, unavailable: 1, throttled: 2, "throttled without a time": 1, refused: 1 },
  },
];
const meets: Record<string, Script> = {
  unsent: "unsent",
  broken: "broken",
  unavailable,
  throttled,
  "throttled without a time": { status: 429 },
  refused: { status: 422 },
};
for (const { verb, after } of repeats) {
  for (const [first, times] of Object.entries(after)) {
    test(`${verb} is sent ${times === 1 ? "once" : "again"} when the first attempt is ${first}`, async () => {
      const { kube, transport, end } = setUp(meets[first]!, ok);
      await end(calls[verb]!(kube));
      expect(transport.requests).toHaveLength(times);
    });
  }
}

describe("a request of any path", () => {
  test("is repeated as its caller states", async () => {
    for (const [more, times] of [[{}, 2] as const, [{ repeat: "once" }, 1] as const]) {
      const { kube, transport, end } = setUp(unavailable, ok);
      await end(kube.raw("GET", "/version", { ...options, ...more }));
      expect(transport.requests).toHaveLength(times);
    }
  });

  test("refuses an answer beyond the bound of its caller", async () => {
    const raw = async (mostBytes: number) =>
      await setUp({ status: 200, body: "1234" }).kube.raw("GET", "/version", { ...options, mostBytes });
    expect(await raw(4)).toBe("1234");
    await expect(raw(3)).rejects.toMatchObject({
      code: "KubeInvalid",
      message: "GET /version: the answer is longer than 3 bytes",
    });
  });
});

describe("a call", () => {
  test("ends at its deadline and opens new connections, since the network path may be dead", async () => {
    const { kube, clock, transport, observed } = setUp("hangs");
    const call = expect(kube.get(PODS, ref, { ...options, deadlineMs: 500 })).rejects.toMatchObject({
      code: "KubeUnavailable",
      message: "get pods default/x: no answer within 500 ms",
    });
    await clock.advance(500);
    await call;
    expect([transport.renewals, observed.map(({ code }) => code)]).toEqual([1, ["timeout"]]);
  });

  test("reports at its deadline the error of its previous attempt", async () => {
    const { kube, clock } = setUp(...Array<Script>(50).fill(unavailable));
    const call = expect(kube.get(PODS, ref, options)).rejects.toThrow(
      /no answer within 15000 ms; before that: .*HTTP 503/,
    );
    await clock.advance(15_000);
    await call;
  });

  test("that is not sent by its deadline reports how long it was queued, and keeps the connections", async () => {
    const { kube, clock, transport, observed } = setUp(waits);
    const call = expect(kube.get(PODS, ref, { ...options, deadlineMs: 500 })).rejects.toMatchObject({
      code: "KubeUnavailable",
      message: "get pods default/x: not sent within 500 ms, of which it waited 500 ms for its turn",
    });
    await clock.advance(500);
    await call;
    expect([transport.renewals, observed.map(({ code, durationMs }) => `${code} ${durationMs}`)]).toEqual([
      0,
      ["unsent 0"],
    ]);
  });

  test("that is queued and then not answered reports both times", async () => {
    const turn = Promise.withResolvers<void>();
    const { kube, clock, transport, observed } = setUp({ turn: turn.promise });
    const call = expect(kube.get(PODS, ref, { ...options, deadlineMs: 500 })).rejects.toThrow(
      "get pods default/x: no answer within 500 ms, of which it waited 300 ms for its turn",
    );
    await clock.advance(300);
    turn.resolve();
    await clock.advance(200);
    await call;
    expect([transport.renewals, observed.map(({ code, durationMs }) => `${code} ${durationMs}`)]).toEqual([
      1,
      ["timeout 200"],
    ]);
  });

  test("that waits after a 429 at its deadline keeps the connections", async () => {
    const slow: Script = { status: 429, headers: { "retry-after": "60" } };
    const { kube, clock, transport } = setUp(slow);
    const call = expect(kube.get(PODS, ref, options)).rejects.toThrow(/no answer within 15000 ms; before that: .*429/);
    await clock.advance(15_000);
    await call;
    expect(transport.renewals).toBe(0);
  });

  test("with a second attempt that is queued at its deadline keeps the connections", async () => {
    const { kube, clock, transport, observed } = setUp("unsent", waits);
    const call = expect(kube.get(PODS, ref, options)).rejects.toThrow(
      /not sent within 15000 ms, of which it waited 14\d\d\d ms for its turn; before that: .*refused/,
    );
    await clock.advance(15_000);
    await call;
    expect([transport.renewals, observed.map(({ code }) => code)]).toEqual([0, ["unsent", "unsent"]]);
  });

  test("that its caller cancels fails as Cancelled, before and after it is sent", async () => {
    const { kube, transport, observed } = setUp("hangs");
    const early = kube.get(PODS, ref, { signal: AbortSignal.abort() });
    await expect(early).rejects.toMatchObject({ code: "Cancelled" });
    expect(transport.requests).toHaveLength(0);
    const stop = new AbortController();
    const late = expect(kube.get(PODS, ref, { signal: stop.signal })).rejects.toMatchObject({ code: "Cancelled" });
    await new Promise(setImmediate);
    stop.abort();
    await late;
    expect(observed.map(({ code }) => code)).toEqual(["cancelled"]);
    expect(transport.renewals).toBe(0);
  });

  test("waits as long as the server's Retry-After requires", async () => {
    const { kube, clock, transport } = setUp({ status: 429, headers: { "retry-after": "7" } }, ok);
    const call = kube.get(PODS, ref, options);
    await clock.advance(6_900);
    expect(transport.requests).toHaveLength(1);
    await clock.advance(200);
    expect(await call).toEqual(pod);
  });

  for (const verb of ["get", "create"]) {
    test(`${verb} reads the credentials again once after a 401, and then fails as KubeForbidden`, async () => {
      const { kube, transport, end } = setUp(unauthorized, unauthorized, ok);
      expect(await end(calls[verb]!(kube))).toBe("KubeForbidden");
      expect(transport.requests.map((request) => request.freshCredentials)).toEqual([false, true]);
    });
  }

  test("reads the CA and client certificates again when the server's certificate was refused", async () => {
    const { kube, transport, end } = setUp("bad-certificate", ok);
    expect(await end(calls.create!(kube))).toEqual(pod);
    expect(transport.requests.map((request) => request.freshCredentials)).toEqual([false, true]);
  });

  test("reports each attempt to the observer", async () => {
    const { kube, observed, end } = setUp("unsent", "broken", unavailable, ok);
    await end(calls.get!(kube));
    expect(observed.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`)).toEqual([
      "get pods unsent",
      "get pods broken",
      "get pods 503",
      "get pods 200",
    ]);
  });

  test("fails as KubeUnavailable when the response is truncated or not an object", async () => {
    for (const body of ['{"kind":"Pod"', "null", { kind: "Pod", metadata: { name: "x" } }]) {
      const { kube, end } = setUp({ status: 200, body });
      expect(await end(calls.get!(kube))).toBe("KubeUnavailable");
    }
  });

  test("of high priority does not wait for the rate limit", async () => {
    const clock = new FakeClock();
    const transport = new ScriptedTransport(ok, ok);
    const kube = new KubeClient({ config, userAgent: "t", clock, transport, limits: { qps: 1, burst: 1 } });
    await kube.get(PODS, ref, options);
    await kube.get(PODS, ref, { ...options, priority: "high" });
    expect(transport.requests.map((request) => request.lane)).toEqual(["calls", "urgent"]);
    const third = expect(kube.get(PODS, ref, { ...options, deadlineMs: 500 })).rejects.toMatchObject({
      code: "KubeUnavailable",
    });
    await clock.advance(500);
    await third;
    expect([transport.requests.length, transport.renewals]).toEqual([2, 0]);
  });
});

describe("a request", () => {
  const sent: { name: string; call: (kube: KubeClient) => Promise<unknown>; expect: object }[] = [
    { name: "get", call: calls.get!, expect: { method: "GET", path: "/api/v1/namespaces/default/pods/x" } },
    {
      name: "a dry run",
      call: (kube) => kube.create(PODS, draft, { ...options, dryRun: true }),
      expect: {
        method: "POST",
        path: "/api/v1/namespaces/default/pods?fieldManager=etcd-cluster-operator&dryRun=All&fieldValidation=Strict",
      },
    },
    {
      name: "apply of a status",
      call: (kube) => kube.apply(PODS, draft, { ...options, force: true, subresource: "status" }),
      expect: {
        method: "PATCH",
        path: "/api/v1/namespaces/default/pods/x/status?fieldManager=etcd-cluster-operator&force=true",
        headers: expect.objectContaining({ "content-type": "application/apply-patch+yaml" }),
        body: JSON.stringify(draft),
      },
    },
    {
      name: "a merge patch with preconditions",
      call: (kube) => kube.patch(PODS, ref, { metadata: { labels: { a: "b" } } }, { ...guarded, type: "merge" }),
      expect: {
        path: "/api/v1/namespaces/default/pods/x?fieldManager=etcd-cluster-operator",
        body: JSON.stringify({ metadata: { labels: { a: "b" }, uid: "u1", resourceVersion: "7" } }),
      },
    },
    {
      name: "a JSON patch with preconditions",
      call: (kube) => kube.patch(PODS, ref, [{ op: "remove", path: "/spec" }], { ...guarded, type: "json" }),
      expect: {
        body: JSON.stringify([
          { op: "add", path: "/metadata/uid", value: "u1" },
          { op: "add", path: "/metadata/resourceVersion", value: "7" },
          { op: "remove", path: "/spec" },
        ]),
      },
    },
    {
      name: "delete",
      call: calls.delete!,
      expect: {
        method: "DELETE",
        body: JSON.stringify({
          apiVersion: "v1",
          kind: "DeleteOptions",
          preconditions: { uid: "u1" },
          propagationPolicy: "Background",
        }),
      },
    },
  ];
  for (const { name, call, expect: request } of sent) {
    test(`${name} is sent in the API's form`, async () => {
      const { kube, transport, end } = setUp(ok);
      await end(call(kube));
      expect(transport.requests[0]).toMatchObject(request);
    });
  }

  const bugs: { name: string; call: (kube: KubeClient) => Promise<unknown> }[] = [
    { name: "for a namespaced kind without a namespace", call: (kube) => kube.get(PODS, { name: "x" }, options) },
    { name: "for a cluster-scoped kind with a namespace", call: (kube) => kube.get(NODES, ref, options) },
    { name: "without a name", call: (kube) => kube.get(PODS, { namespace: "default", name: "" }, options) },
    {
      name: "with a name that contains a path",
      call: (kube) => kube.get(PODS, { namespace: "default", name: ".." }, options),
    },
    { name: "to replace without a resourceVersion", call: (kube) => kube.replace(PODS, draft, options) },
    {
      name: "to delete with an empty uid",
      call: (kube) => kube.delete(PODS, ref, { ...options, preconditions: { uid: "" } }),
    },
  ];
  for (const { name, call } of bugs) {
    test(`${name} fails as a bug and is never sent`, async () => {
      const { kube, transport, end } = setUp(ok);
      expect(await end(call(kube))).toBe("Bug");
      expect(transport.requests).toHaveLength(0);
    });
  }

  test("for a dry run may return an object without resourceVersion, and one to create may not", async () => {
    const unstored: Script = { status: 201, body: { ...pod, metadata: { ...ref, uid: "u1" } } };
    const { kube, end } = setUp(unstored, unstored);
    expect(await end(kube.create(PODS, draft, { ...options, dryRun: true }))).toEqual(unstored.body);
    expect(await end(kube.create(PODS, draft, options))).toBe("KubeUnavailable");
  });

  test("for a list follows its pages to the end, and accepts null as an empty list", async () => {
    const page = (items: unknown, next: string): Script => ({
      status: 200,
      body: { metadata: { resourceVersion: "9", continue: next }, items },
    });
    const { kube, transport, end } = setUp(page([pod], "more"), page(null, ""));
    expect(await end(kube.list(PODS, { labelSelector: "a=b" }, options))).toEqual({
      items: [pod],
      resourceVersion: "9",
    });
    expect(transport.requests.map((request) => request.path)).toEqual([
      "/api/v1/pods?labelSelector=a%3Db&limit=500",
      "/api/v1/pods?labelSelector=a%3Db&limit=500&continue=more",
    ]);
  });
});

describe("a page of a list that is too large", () => {
  const page = (next: string): Script => ({
    status: 200,
    body: { metadata: { resourceVersion: "9", continue: next }, items: [pod] },
  });

  test("is requested again with half as many objects, and later pages grow again", async () => {
    const { kube, transport, end } = setUp(
      "too-long",
      "too-long",
      page("a"),
      "too-long",
      page("b"),
      page("c"),
      page(""),
    );
    expect(await end(kube.list(PODS, {}, options))).toMatchObject({
      items: [pod, pod, pod, pod],
      resourceVersion: "9",
    });
    expect(transport.requests.map((request) => request.path.split("?")[1])).toEqual([
      "limit=500",
      "limit=250",
      "limit=125",
      "limit=250&continue=a",
      "limit=125&continue=a",
      "limit=250&continue=b",
      "limit=500&continue=c",
    ]);
  });

  test("is avoided by pages that never exceed the caller's limit", async () => {
    const { kube, transport, end } = setUp(page("a"), page(""));
    await end(kube.list(PODS, { limit: 3 }, options));
    expect(transport.requests.map((request) => request.path.split("?")[1])).toEqual(["limit=3", "limit=3&continue=a"]);
  });

  test("is requested with ever fewer objects, down to one", async () => {
    const { kube, transport, end } = setUp("too-long", "too-long", "too-long");
    expect(await end(kube.list(PODS, { limit: 3 }, options))).toBe("KubeUnavailable");
    expect(transport.requests.map((request) => request.path.split("=")[1])).toEqual(["3", "2", "1"]);
  });

  test("is the only failure that reduces the page size", async () => {
    const { kube, transport, end } = setUp({ status: 403 });
    expect(await end(kube.list(PODS, {}, options))).toBe("KubeForbidden");
    expect(transport.requests).toHaveLength(1);
  });
});

describe("find() reports", () => {
  const cases: { name: string; script: Script; expect: object }[] = [
    { name: "an existing object", script: ok, expect: { is: "present", value: pod } },
    {
      name: "a missing object",
      script: { status: 404, body: { kind: "Status", reason: "NotFound", details: { name: "x" } } },
      expect: { is: "absent" },
    },
    {
      name: "a kind that the server does not serve",
      script: { status: 404, body: "404 page not found" },
      expect: { is: "unknown" },
    },
    {
      name: "a missing permission",
      script: { status: 403 },
      expect: { is: "unknown", why: expect.stringContaining("HTTP 403") },
    },
  ];
  for (const { name, script, expect: found } of cases) {
    test(`${name} as ${(found as { is: string }).is}`, async () => {
      const { kube, end } = setUp(script);
      expect(await end(kube.find(PODS, ref, options))).toMatchObject(found);
    });
  }
  test("a cancelled call as an error, neither absent nor unknown", async () => {
    const { kube } = setUp();
    await expect(kube.find(PODS, ref, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "Cancelled" });
  });
});

describe("a watch", () => {
  test("requests bookmarks, and the initial events when the caller wants them", async () => {
    const { kube, transport } = setUp({ status: 200, body: "" }, { status: 200, body: "" });
    await allOf(kube.watch(PODS, { initialEvents: true, timeoutSeconds: 300 }, options));
    await allOf(kube.watch(PODS, { resourceVersion: "7", namespace: "a", timeoutSeconds: 300 }, options));
    expect(transport.requests.map(({ path, lane }) => `${lane} ${path}`)).toEqual([
      "watch /api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
      "watch /api/v1/namespaces/a/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=7",
    ]);
  });

  test("reports when the server begins to respond, even without events, and not after a refusal", async () => {
    const opened: string[] = [];
    const { kube } = setUp({ status: 200, body: "" });
    await allOf(kube.watch(PODS, { timeoutSeconds: 1 }, { ...options, onOpen: () => opened.push("open") }));
    expect(opened).toEqual(["open"]);
    for (const script of [{ status: 410 }, "unsent", throttled] as const) {
      const { kube: refused, end } = setUp(script);
      await end(
        allOf(refused.watch(PODS, { timeoutSeconds: 1 }, { ...options, onOpen: () => opened.push("refused") })),
      );
    }
    expect(opened).toEqual(["open"]);
  });

  test("fails with the error's code when it is refused, and is not retried", async () => {
    for (const [script, code] of [
      [{ status: 410 }, "KubeExpired"],
      ["unsent", "KubeUnavailable"],
      [throttled, "KubeThrottled"],
    ] as const) {
      const { kube, transport, end } = setUp(script, ok);
      expect(await end(allOf(kube.watch(PODS, { timeoutSeconds: 1 }, options)))).toBe(code);
      expect(transport.requests).toHaveLength(1);
    }
  });
});

describe("a change that fails because the object was replaced or deleted reports the expected version:", () => {
  const moved: Script = { status: 409, body: { kind: "Status", reason: "Conflict" } };
  const gone: Script = { status: 404, body: { kind: "Status", reason: "NotFound", details: { name: "x" } } };
  const known = { plural: "pods", ...ref, uid: "u1", resourceVersion: "7" };
  const cases = [
    { verb: "replace", script: moved, expected: known },
    { verb: "patch with version", script: gone, expected: known },
    {
      verb: "patch without version",
      script: moved,
      expected: { ...known, uid: undefined, resourceVersion: undefined },
    },
    { verb: "delete", script: gone, expected: { ...known, resourceVersion: undefined } },
    { verb: "get", script: gone, expected: undefined },
    { verb: "create", script: moved, expected: undefined },
    { verb: "replace", script: { status: 403, body: { kind: "Status", reason: "Forbidden" } }, expected: undefined },
  ];

  test.each(cases)("$verb answered with $script.status", async ({ verb, script, expected }) => {
    const { kube, clock } = setUp(script);
    const refused = calls[verb]?.(kube).catch((thrown: { known?: unknown }) => ({ known: thrown.known }));
    await clock.advance(60_000);
    expect(await refused).toEqual({ known: expected });
  });
});
