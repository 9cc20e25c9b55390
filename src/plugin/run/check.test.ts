import { expect, test } from "vitest";
import { CLUSTER_LABEL, memberLabels } from "#api/names.ts";
import { cluster, NOW } from "#kit/snapshots/cluster.ts";
import { asleep } from "#kit/snapshots/cluster-sleep.ts";
import { metricsText } from "#kit/snapshots/member-metrics.ts";
import { seenCluster } from "#kit/snapshots/pictures.ts";
import { KubeClient } from "#kube/client.ts";
import type { HttpAnswer, HttpRequest } from "#kube/transport.ts";
import { inputOf } from "../arguments.ts";
import type { Context } from "../context.ts";
import { itemsAt, textAt, type Values } from "../fields.ts";
import { checked } from "./check.ts";

// The command against an API server of this test, which proxies to members.

type Reply = { readonly status?: number; readonly body: string | object };
const json = (body: object): Reply => ({ body });
const replyOf = (given: Values | Reply): Reply => ("body" in given ? (given as Reply) : json(given));

const seen = seenCluster(cluster());
const ids = itemsAt(seen, "status", "members").map((each) => textAt(each, "id"));
const pods = [0, 1, 2].map((n) => pod(`my-etcd-${n}-abcde`, `my-etcd-${n}`));

function pod(name: string, member: string, more: object = {}): Values {
  const labels = memberLabels("my-etcd", member);
  const metadata = { name, namespace: "shop", uid: name, resourceVersion: "1", labels, ...more };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { nodeName: `node-of-${member}` } };
}

/** Metrics of a member, after so many writes of 2 ms. */
function metrics(n: number, writes: number): Reply {
  const trips = Object.fromEntries(ids.filter((_, at) => at !== n).map((id) => [id, { 0.4: 1 }]));
  const counters = { leaderChanges: 1, failedProposals: 0, slowApplies: 0 };
  const times = { sync: { 2: writes }, commit: { 8: writes } };
  return { body: metricsText({ id: ids[n]!, startMs: NOW - 60_000, trips, ...times, ...counters }) };
}

interface World {
  readonly cluster?: Values | Reply;
  readonly pods?: readonly Values[] | Reply;
  /** Answer of this member's pod. @param isLater whether it is the second reading */
  readonly member?: (n: number, isLater: boolean) => Reply | undefined;
}

async function run(world: World, ...more: readonly string[]) {
  const input = inputOf(["check", "my-etcd", ...more]);
  if (input === "help") throw new Error("no command");
  const waits: number[] = [];
  const paths: string[] = [];
  let out = "";
  const answer = ({ path }: HttpRequest): Reply => {
    paths.push(path);
    if (path.includes("/etcdclusters/")) return replyOf(world.cluster ?? seen);
    if (path.includes("/pods?")) {
      const found = world.pods ?? pods;
      return "body" in found ? found : json({ kind: "PodList", metadata: { resourceVersion: "1" }, items: found });
    }
    const [, n] = /^\/api\/v1\/namespaces\/shop\/pods\/my-etcd-(\d)-abcde:2381\/proxy\/metrics$/.exec(path) ?? [];
    if (n === undefined) throw new Error(`no answer to ${path}`);
    const isLater = waits.length > 0;
    return world.member?.(Number(n), isLater) ?? metrics(Number(n), isLater ? 200 : 100);
  };
  const send = async (request: HttpRequest): Promise<HttpAnswer> => {
    const { status = 200, body } = await Promise.resolve(answer(request));
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const chunks = async function* () {
      yield await Promise.resolve(Buffer.from(text));
    };
    return { status, header: () => undefined, text: () => Promise.resolve(text), chunks };
  };
  const config = {
    server: "https://x",
    namespace: "shop",
    origin: "test",
    credentials: async () => ({ tls: { verify: true } }),
  };
  const client = new KubeClient({ config, userAgent: "t", transport: { send, close: async () => undefined } } as never);
  const context = {
    input,
    signal: new AbortController().signal,
    nowMs: () => NOW,
    write: (text: string) => (out += text),
    warn: (text: string) => (out += `warned: ${text}`),
    isTerminal: false,
    columns: undefined,
    colour: false,
    connect: () => ({ client, namespace: "shop" }),
  } as unknown as Context;
  const code = await checked(context, async (ms) => {
    waits.push(ms);
    await Promise.resolve();
  });
  return { code, out, waits, paths };
}

test("each member is read twice, ten seconds apart, and what came in between is judged", async () => {
  const { code, out, waits, paths } = await run({});
  expect([code, waits]).toEqual([0, [10_000]]);
  expect(paths.filter((path) => path.includes("/proxy/"))).toHaveLength(6);
  expect(paths[1]).toContain(encodeURIComponent(`${CLUSTER_LABEL}=my-etcd`));
  expect(out).toMatch(/^my-etcd {2}well {2}foo {2}3 of 3 members measured for 10 s\n/);
  expect(out).not.toContain("node");
  expect((await run({}, "-o", "wide")).out).toContain("node-of-my-etcd-1");
  const { members } = JSON.parse((await run({}, "-o", "json")).out);
  expect(members[0]).toMatchObject({ node: "node-of-my-etcd-0", fsync: { count: 100, basis: "window" } });
  expect((await run({}, "-o", "yaml")).out).toMatch(/^state: well\nexitCode: 0\n/);
});

test("only what came within the window is judged", async () => {
  const slowBefore = await run({ member: (n, isLater) => withSlow(n, isLater, 100, 100) });
  expect(slowBefore.code).toBe(0);
  const slowNow = await run({ member: (n, isLater) => withSlow(n, isLater, 0, 100) });
  expect([slowNow.code, slowNow.out]).toEqual([1, expect.stringContaining("(WAL fsync) takes too long on my-etcd-0")]);
});

/** Metrics with so many slow writes of member 0 at the first and at the second reading. */
function withSlow(n: number, isLater: boolean, before: number, after: number): Reply {
  const { body } = metrics(n, isLater ? 200 : 100);
  const slow = n > 0 ? 0 : isLater ? after : before;
  return {
    body: (body as string).replaceAll(
      /(wal_fsync_duration_seconds_bucket\{le="(?:[1-9]\.\d+|\+Inf)"\}) (\d+)/g,
      (_, name, count) => `${name} ${Number(count) + slow}`,
    ),
  };
}

test("--for changes the window, within bounds", async () => {
  expect((await run({}, "--for", "1m")).waits).toEqual([60_000]);
  expect((await run({}, "--for", "1h")).waits).toEqual([3_600_000]);
  await expect(run({}, "--for", "61m")).rejects.toThrow("--for is 3660 s; it must be at most 3600 s.");
  await expect(run({}, "--for", "ten")).rejects.toThrow('--for is "ten"; it must be a time such as 90s, 10m or 2h.');
});

const forbidden: Reply = {
  status: 403,
  body: {
    kind: "Status",
    reason: "Forbidden",
    message: `pods "my-etcd-0-abcde:2381" is forbidden: User "${"ada".repeat(100)}" cannot get resource "pods/proxy" in API group "" in the namespace "shop"`,
  },
};
const UNREACHABLE = { kind: "Status", reason: "ServiceUnavailable", message: "error trying to reach service: EOF" };

test.each<[string, World, string]>([
  ["a right is missing", { member: () => forbidden }, "the right get pods/proxy in namespace shop is missing."],
  [
    "members do not answer",
    { member: () => ({ status: 503, body: UNREACHABLE }) },
    "error trying to reach service: EOF (HTTP 503",
  ],
  ["members serve a page", { member: () => ({ body: "<html>" }) }, "the answer is not that of an etcd."],
  ["members redirect", { member: () => ({ status: 302, body: "" }) }, "(HTTP 302)."],
  [
    "members answer without end",
    { member: () => ({ body: "x".repeat(4 * 1024 * 1024 + 1) }) },
    "the answer is longer than 4194304 bytes.",
  ],
  [
    "another etcd answers",
    { member: (n) => metrics((n + 1) % 3, 100) },
    `these are metrics of member ${ids[1]}, not ${ids[0]}`,
  ],
  ["there are no pods", { pods: [] }, "it has no pod."],
  [
    "pods are being deleted",
    {
      pods: pods.map((each) => ({
        ...each,
        metadata: { ...(each.metadata as object), deletionTimestamp: "2026-01-01T00:00:00Z" },
      })),
    },
    "it has no pod.",
  ],
])("when %s, it cannot tell, does not wait, and asks no member twice", async (_, world, text) => {
  const { code, out, waits, paths } = await run(world);
  expect([code, waits]).toEqual([3, []]);
  expect(out.replaceAll(/\n {2}/g, " ")).toContain(`! No metrics of my-etcd-0`);
  expect(out.replaceAll(/\n {2}/g, " ")).toContain(text);
  expect(out).not.toContain("GET /api");
  expect(paths.filter((path) => path.includes("/proxy/")).length).toBeLessThanOrEqual(3);
});

test("a member that cannot be read does not hide the others", async () => {
  const first = await run({ member: (n) => (n === 1 ? forbidden : undefined) });
  expect([first.code, first.waits]).toEqual([3, [10_000]]);
  expect(first.out).toMatch(/^my-etcd-1 .* not read$/m);
  const second = await run({ member: (n, isLater) => (n === 1 && isLater ? { status: 503, body: "" } : undefined) });
  expect(second.out).toMatch(/^my-etcd-1 .* not read$/m);
});

test("of several pods of a member the one that stays is read", async () => {
  const leaving = pod("leaving", "my-etcd-0", { deletionTimestamp: "2026-01-01T00:00:00Z" });
  expect((await run({ pods: [leaving, ...pods] })).code).toBe(0);
});

test("a cluster that sleeps is not read", async () => {
  const { code, paths, out } = await run({ cluster: seenCluster(asleep()) });
  expect([code, paths.length]).toEqual([0, 1]);
  expect(out).toContain("The cluster sleeps");
});

test("at most nine members are read", async () => {
  const members = Array.from({ length: 12 }, (_, n) => ({ name: `my-etcd-${n}`, id: ids[n], role: "Voter" }));
  const many = { ...seen, status: { ...(seen.status as object), members } };
  const { out } = await run({ cluster: many, member: (n) => (n < 3 ? undefined : { body: "" }) });
  expect(out).toContain("3 of 12 members measured");
  expect(out).toContain("! 3 more members are not read.");
});

test("a missing cluster, and pods that cannot be listed, are errors", async () => {
  const refused: Reply = { status: 403, body: { kind: "Status", message: 'User "x" cannot list resource "pods"' } };
  await expect(run({ pods: refused })).rejects.toThrow(
    /^The pods of EtcdCluster my-etcd cannot be read: .*list resource/,
  );
  const none: Reply = { status: 404, body: { kind: "Status", reason: "NotFound", details: { name: "x" } } };
  await expect(run({ cluster: none })).rejects.toThrow("EtcdCluster my-etcd in namespace shop does not exist.");
});
