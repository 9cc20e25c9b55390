import { expect, test } from "vitest";
import { type ErrorCode, OperatorError } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeClient } from "#kube/client.ts";
import { untilPermitted, watchedNamespaces } from "./namespaces.ts";

const never = new AbortController().signal;

/** An API server that answers with this error in the namespaces; without one, requests succeed. */
function setup(errors: Record<string, ErrorCode | undefined>) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const warned: unknown[] = [];
  const pages = function* (_resource: unknown, { namespace = "" }: { namespace?: string }) {
    asked.push(namespace);
    const code = errors[namespace];
    if (code !== undefined) throw new OperatorError(code, code);
    yield { items: [], metadata: { resourceVersion: "1" } };
  };
  const log = { ...silentLog, warn: (fields: object) => void warned.push(fields) };
  const kube = { pages } as unknown as Pick<KubeClient, "pages">;
  return { tools: { kube, clock, log }, clock, asked, warned, errors };
}

test("namespaces with the right are watched at once", async () => {
  const { tools, asked, warned } = setup({});
  expect(await watchedNamespaces(tools, ["shop", "billing"], never)).toEqual({
    permitted: ["shop", "billing"],
    refused: [],
  });
  expect([asked, warned]).toEqual([["shop", "billing"], []]);
});

test("a namespace that is refused for ten seconds is left out with a warning", async () => {
  const { tools, clock, warned } = setup({ shop: "KubeForbidden" });
  const watched = watchedNamespaces(tools, ["shop", "billing"], never);
  await clock.advance(9_999);
  expect(warned).toEqual([]);
  await clock.advance(1_000);
  expect(await watched).toEqual({ permitted: ["billing"], refused: ["shop"] });
  expect(warned).toEqual([{ namespace: "shop" }]);
});

test("a refusal that ends within ten seconds is forgotten", async () => {
  const { tools, clock, errors } = setup({ shop: "KubeForbidden" });
  const watched = watchedNamespaces(tools, ["shop"], never);
  await clock.advance(5_500);
  errors.shop = undefined;
  await clock.advance(1_000);
  expect(await watched).toEqual({ permitted: ["shop"], refused: [] });
});

test.each(["KubeUnavailable", "KubeNotFound", "KubeThrottled"] as const)(
  "the error %s does not leave a namespace out",
  async (code) => {
    const { tools } = setup({ shop: code });
    expect(await watchedNamespaces(tools, ["shop"], never)).toEqual({ permitted: ["shop"], refused: [] });
  },
);

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
