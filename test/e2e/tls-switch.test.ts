import { afterAll, beforeAll, expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { Load } from "#kit/e2e/load.ts";
import { expectHardlyAnyFailed, expectNothingLost } from "#kit/e2e/loaded-cluster.ts";

// A cluster without TLS gets TLS and loses it again, under clients without TLS. Members serve both plaintext and TLS
// for a while, and the clients lose nothing.

const NONE = { provider: "None" } as const;
const OPERATOR = { provider: "Operator" } as const;
const MEMBERS = [0, 1, 2].map((n) => `my-etcd-${n}`);
/** Nine restarts, one after another, on a busy machine. */
const SWITCHED_MS = 400_000;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;

beforeAll(async () => {
  namespace = await testNamespace("tls-switch");
  cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 3, tls: { peer: NONE, client: { ...NONE, plaintextFor: "1h" } } });
  await cluster.untilReady();
});
afterAll(async () => await namespace[Symbol.asyncDispose]());

/** The schemes of peer URLs and client URLs, from etcd's member list. */
async function listed(flags: readonly string[] = []): Promise<{ peers: string; clients: string }[]> {
  const text = await cluster.etcdctl("my-etcd-0", ...flags, "member", "list", "-w", "json");
  const { members } = JSON.parse(text) as { members: { peerURLs: string[]; clientURLs: string[] }[] };
  const schemes = (urls: readonly string[]) => urls.map((url) => url.split(":")[0]).join();
  return members.map(({ peerURLs, clientURLs }) => ({ peers: schemes(peerURLs), clients: schemes(clientURLs) }));
}

async function until(of: (found: EtcdCluster) => boolean): Promise<EtcdCluster> {
  return await eventually(async () => {
    const found = await cluster.get();
    expect(of(found), JSON.stringify(found.status?.conditions)).toBe(true);
    return found;
  }, SWITCHED_MS);
}

const isSettled = ({ metadata, status }: EtcdCluster) =>
  status?.observedGeneration === metadata.generation &&
  status?.update === undefined &&
  status?.conditions?.some(({ type, status: is }) => type === "UpToDate" && is === "True") === true;
const servesBoth = (found: EtcdCluster) => isSettled(found) && found.status?.tls?.client?.bothServedSince !== undefined;

const SECURE = ["--endpoints=https://localhost:2379"];
const PLAIN = ["--endpoints=http://localhost:2379"];
const all = (peers: string, clients: string) => MEMBERS.map(() => ({ peers, clients }));

test(
  "TLS is switched on and off, and clients without TLS notice no failed request",
  async () => {
    const ids = (await cluster.get()).status?.members?.map(({ id }) => id);
    const load = new Load(namespace.name, "my-etcd", { again: "once" });
    try {
      await load.untilServed();
      await cluster.patch({ tls: { peer: OPERATOR, client: OPERATOR } });
      await until(servesBoth);
      expect(await listed(PLAIN)).toEqual(all("https", "http,https"));
      await load.untilServed();
      await expectNothingLost(load);
      expectHardlyAnyFailed(load);
    } finally {
      await load[Symbol.asyncDispose]();
    }
    await cluster.patch({ tls: { client: { plaintextFor: "0s" } } });
    await until((found) => isSettled(found) && found.status?.tls?.client?.bothServedSince === undefined);
    expect(await listed(SECURE)).toEqual(all("https", "https"));
    await cluster.patch({ tls: { peer: NONE, client: NONE } });
    await until((found) => isSettled(found) && found.status?.tls?.client?.scheme === "http");
    expect(await listed(PLAIN)).toEqual(all("http", "http"));
    const { status } = await cluster.get();
    expect(status?.members?.map(({ id }) => id)).toEqual(ids);
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
  },
  3 * SWITCHED_MS,
);
