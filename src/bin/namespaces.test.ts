import { expect, test } from "vitest";
import { type ErrorCode, OperatorError } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { KubeClient } from "#kube/client.ts";
import { type AnyResource, PODS, SERVICES } from "#kube/kinds.ts";
import { cachedKinds } from "./caches.ts";
import { untilPermitted, watchedNamespaces } from "./namespaces.ts";

const never = new AbortController().signal;

type Query = { readonly namespace?: string };

/**
 * An API server that answers with these errors. A key is a namespace, or verb, kind and namespace; without an error
 * requests succeed.
 */
function setup(errors: Record<string, ErrorCode | undefined>) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const warned: unknown[] = [];
  const meet = (verb: string, { plural }: AnyResource, { namespace = "" }: Query): void => {
    asked.push(`${verb} ${plural} ${namespace}`);
    const code = errors[namespace] ?? errors[`${verb} ${plural} ${namespace}`];
    if (code !== undefined) throw new OperatorError(code, code);
  };
  const pages = function* (kind: AnyResource, query: Query) {
    meet("list", kind, query);
    yield { items: [], metadata: { resourceVersion: "1" } };
  };
  const watch = async function* (kind: AnyResource, query: Query, options: { signal: AbortSignal; onOpen(): void }) {
    meet("watch", kind, query);
    options.onOpen();
    if (!options.signal.aborted) await new Promise(() => undefined);
    yield* await Promise.reject<never[]>(new OperatorError("Cancelled", "the watch was opened"));
  };
  const log = { ...silentLog, warn: (fields: object, message: string) => void warned.push({ ...fields, message }) };
  const kube = { pages, watch } as unknown as Pick<KubeClient, "pages" | "watch">;
  const reported: number[] = [];
  const report = (leftOut: number): void => void reported.push(leftOut);
  return { tools: { kube, kinds: [SERVICES, PODS], clock, log, report }, clock, asked, warned, errors, reported };
}

const leftOut = (namespace: string) =>
  expect.objectContaining({ namespace, message: expect.stringContaining("leaves this namespace out") });

test("namespaces with the rights to list and watch every kind are watched at once", async () => {
  const { tools, asked, warned } = setup({});
  expect(await watchedNamespaces(tools, ["shop", "billing"], never)).toEqual({
    permitted: ["shop", "billing"],
    refused: [],
  });
  const kinds = ["list services", "watch services", "list pods", "watch pods"];
  expect(asked.sort()).toEqual(kinds.flatMap((kind) => [`${kind} billing`, `${kind} shop`]).sort());
  expect(warned).toEqual([]);
});

test.each(["shop", "list services shop", "list pods shop", "watch pods shop"])(
  "a namespace is left out with a warning after ten seconds in which the API server refused: %s",
  async (refused) => {
    const { tools, clock, warned, reported } = setup({ [refused]: "KubeForbidden" });
    const watched = watchedNamespaces(tools, ["shop", "billing"], never);
    await clock.advance(9_999);
    expect([warned, reported.at(-1)]).toEqual([[], 0]);
    await clock.advance(2_000);
    expect(await watched).toEqual({ permitted: ["billing"], refused: ["shop"] });
    expect([warned, reported.at(-1)]).toEqual([[leftOut("shop")], 1]);
  },
);

test("a refusal that ends within ten seconds is forgotten", async () => {
  const { tools, clock, errors } = setup({ shop: "KubeForbidden" });
  const watched = watchedNamespaces(tools, ["shop"], never);
  await clock.advance(5_500);
  errors.shop = undefined;
  await clock.advance(2_000);
  expect(await watched).toEqual({ permitted: ["shop"], refused: [] });
});

test.each(["KubeUnavailable", "KubeNotFound", "KubeThrottled", "Bug"] as const)(
  "after the error %s the operator asks again until it knows, and counts ten seconds of refusals from then on",
  async (code) => {
    const { tools, clock, errors, warned } = setup({ shop: code });
    let watched: unknown;
    void watchedNamespaces(tools, ["shop", "billing"], never).then((value) => (watched = value));
    await clock.advance(60_000);
    expect(watched).toBeUndefined();
    expect(warned).toEqual([
      { namespace: "shop", error: code, message: expect.stringContaining("until the API server answers") },
    ]);
    errors.shop = "KubeForbidden";
    await clock.advance(9_999);
    expect(watched).toBeUndefined();
    await clock.advance(4_000);
    expect(watched).toEqual({ permitted: ["billing"], refused: ["shop"] });
    expect(warned).toHaveLength(2);
  },
);

test("refusals count again from the start after an unknown answer", async () => {
  const { tools, clock, errors } = setup({ shop: "KubeForbidden" });
  let watched: unknown;
  void watchedNamespaces(tools, ["shop", "billing"], never).then((value) => (watched = value));
  await clock.advance(7_000);
  errors.shop = "KubeUnavailable";
  await clock.advance(2_000);
  errors.shop = "KubeForbidden";
  await clock.advance(9_000);
  expect(watched).toBeUndefined();
  await clock.advance(4_000);
  expect(watched).toEqual({ permitted: ["billing"], refused: ["shop"] });
});

test("with all namespaces refused the operator warns once and waits until one is permitted", async () => {
  const { tools, clock, errors, warned, reported } = setup({ shop: "KubeForbidden", billing: "KubeForbidden" });
  let watched: unknown;
  void watchedNamespaces(tools, ["shop", "billing"], never).then((value) => (watched = value));
  await clock.advance(300_000);
  expect(watched).toBeUndefined();
  expect([warned, reported.at(-1)]).toEqual([[leftOut("shop"), leftOut("billing")], 2]);
  errors.billing = undefined;
  await clock.advance(2_000);
  expect(watched).toEqual({ permitted: ["billing"], refused: ["shop"] });
});

test("the end of the process ends the wait for an answer", async () => {
  const { tools, clock } = setup({ shop: "KubeUnavailable" });
  const stop = new AbortController();
  const watched = watchedNamespaces(tools, ["shop"], stop.signal);
  await clock.advance(5_000);
  stop.abort();
  await clock.advance(0);
  expect(await watched).toBeUndefined();
});

test("the wait ends when one of the namespaces is permitted, or with the process", async () => {
  const { tools, clock, errors } = setup({ shop: "KubeForbidden", billing: "KubeForbidden" });
  let answer: boolean | undefined;
  void untilPermitted(tools, ["shop", "billing"], never).then((value) => (answer = value));
  await clock.advance(300_000);
  expect(answer).toBeUndefined();
  errors.billing = undefined;
  await clock.advance(30_000);
  expect(answer).toBe(true);
  expect(await untilPermitted(tools, ["shop"], AbortSignal.abort())).toBe(false);
});

test("an outage of the API server is no permission", async () => {
  const { tools, clock, errors } = setup({ shop: "KubeForbidden" });
  let answer: boolean | undefined;
  void untilPermitted(tools, ["shop"], never).then((value) => (answer = value));
  for (const code of ["KubeForbidden", "KubeUnavailable", "KubeThrottled", "KubeForbidden"] as const) {
    errors.shop = code;
    await clock.advance(30_000);
    expect(answer).toBeUndefined();
  }
});

test("the kinds that are asked for are those of the caches", () => {
  const config = { server: "http://localhost", credentials: () => Promise.resolve({}) };
  const kube = new KubeClient({ config: config as never, userAgent: "test", limits: { qps: 1, burst: 1 } });
  const plurals = cachedKinds(kube, new FakeClock(), silentLog).map(({ plural }) => plural);
  expect(plurals).toHaveLength(14);
  expect(plurals).toEqual(expect.arrayContaining(["etcdclusters", "pods", "jobs", "networkpolicies"]));
});
