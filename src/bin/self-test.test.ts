import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { OperatorError } from "#base/error.ts";
import { absent, present } from "#base/observed.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeClient } from "#kube/client.ts";
import type { AnyResource, Ref } from "#kube/kinds.ts";
import { readSelfTestFlags, SELF_TEST_CLAIM, SELF_TEST_CLUSTER, selfTest } from "./self-test.ts";

const FLAGS = { namespace: "shop", timeoutMs: 60_000, storageClass: undefined };

/** An API server that reports this condition after 3 s, and holds a deleted cluster for 2 s. */
function setup(status: "True" | "False", exists = false, signal = new AbortController().signal) {
  const clock = new FakeClock();
  const objects = new Set<string>();
  const done: string[] = [];
  const readyAtMs = clock.monotonicMs() + 3_000;
  const condition = { type: "Ready", status, message: "it pulls an image" };
  const kube = {
    create: (_kind: AnyResource, object: { metadata: Ref }) => {
      if (exists) return Promise.reject(new OperatorError("KubeAlreadyExists", "exists"));
      for (const name of [object.metadata.name, SELF_TEST_CLAIM]) objects.add(name);
      return Promise.resolve(object);
    },
    find: (_kind: AnyResource, { name }: Ref, options: { signal: AbortSignal }) => {
      if (options.signal.aborted) return Promise.reject(new OperatorError("Cancelled", "aborted"));
      if (!objects.has(name)) return Promise.resolve(absent);
      const conditions = clock.monotonicMs() >= readyAtMs ? [condition] : [];
      return Promise.resolve(
        present({ metadata: { name, uid: name }, status: { conditions } } as unknown as EtcdCluster),
      );
    },
    delete: (_kind: AnyResource, { name }: Ref, options: { signal: AbortSignal }) => {
      if (options.signal.aborted) return Promise.reject(new OperatorError("Cancelled", "aborted"));
      done.push(`delete ${name}`);
      clock.after(name === SELF_TEST_CLUSTER ? 500 : 0, () => objects.delete(name));
      return Promise.resolve();
    },
  } as unknown as Pick<KubeClient, "create" | "find" | "delete">;
  return { tools: { kube, clock, print: (line: string) => void done.push(line), signal }, clock, objects, done };
}

test("the self-test creates a cluster, waits until it is Ready, and deletes it before its claim", async () => {
  const { tools, clock, objects, done } = setup("True");
  const run = selfTest(tools, FLAGS);
  await clock.advance(2_900);
  expect(done).toEqual([`EtcdCluster shop/${SELF_TEST_CLUSTER} is created.`]);
  await clock.advance(10_000);
  await run;
  expect([...objects]).toEqual([]);
  expect(done.slice(1)).toEqual([
    "It is Ready.",
    `delete ${SELF_TEST_CLUSTER}`,
    `delete ${SELF_TEST_CLAIM}`,
    "It is deleted, and its claim, too.",
  ]);
});

test("a cluster that does not become Ready is deleted, and the error quotes its condition", async () => {
  const { tools, clock, objects } = setup("False");
  const run = expect(selfTest(tools, FLAGS)).rejects.toThrow(
    "the EtcdCluster is not Ready after 60 s: it pulls an image",
  );
  await clock.advance(70_000);
  await run;
  expect([...objects]).toEqual([]);
});

test("a self-test that is stopped deletes its cluster and claim, and fails", async () => {
  const stop = new AbortController();
  const { tools, clock, objects } = setup("False", false, stop.signal);
  const run = expect(selfTest(tools, FLAGS)).rejects.toThrow("aborted");
  await clock.advance(5_500);
  expect(objects.size).toBe(2);
  stop.abort(new OperatorError("Cancelled", "aborted"));
  await clock.advance(10_000);
  await run;
  expect([...objects]).toEqual([]);
});

test("a cluster of that name that exists already is left alone", async () => {
  const { tools, done } = setup("True", true);
  await expect(selfTest(tools, FLAGS)).rejects.toThrow("exists already; delete it, then test again");
  expect(done).toEqual([]);
});

test("the flags of the self-test are checked", () => {
  expect(readSelfTestFlags(["--namespace=shop"])).toEqual({ ...FLAGS, timeoutMs: 300_000 });
  expect(readSelfTestFlags(["--namespace=shop", "--timeout=1m", "--storage-class=fast"])).toEqual({
    ...FLAGS,
    storageClass: "fast",
  });
  expect(() => readSelfTestFlags([])).toThrow("--namespace is missing");
  expect(() => readSelfTestFlags(["--namespace=shop", "--timeout=soon"])).toThrow("--timeout is soon; it must be");
});
