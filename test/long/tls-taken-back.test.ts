import { afterAll, beforeAll, expect, test } from "vitest";
import type { EtcdCluster, EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { Load } from "#kit/e2e/load.ts";
import { expectNobodyFailed, expectNothingLost } from "#kit/e2e/loaded-cluster.ts";

// A switch to TLS or away from it is reverted while only some members have switched: all go back, and clients without
// TLS lose nothing.

const NONE = { provider: "None" } as const;
const OPERATOR = { provider: "Operator" } as const;
const NAMES = [0, 1, 2].map((n) => `my-etcd-${n}`);
/** Nine restarts, one after another, on a busy machine. */
const SWITCHED_MS = 400_000;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;

beforeAll(async () => {
  namespace = await testNamespace("tls-taken-back");
  cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 3, tls: { peer: NONE, client: { ...NONE, plaintextFor: "1h" } } });
  await cluster.untilReady();
});
afterAll(async () => await namespace[Symbol.asyncDispose]());

/** The scheme of each member's peer URL in etcd's list. The first running member to answer is asked, without TLS. */
async function reached(): Promise<readonly string[]> {
  const asked = await Promise.any(
    NAMES.map(async (name) => {
      const pod = await cluster.podOf(name);
      const etcdctl = ["etcdctl", "--endpoints=http://localhost:2379", "member", "list", "-w", "json"];
      return await cluster.kubectl("exec", pod, "-c", "etcd", "--", ...etcdctl);
    }),
  );
  const { members } = JSON.parse(asked) as { members: { peerURLs: string[] }[] };
  return members.flatMap(({ peerURLs }) => peerURLs.map((url) => url.split(":")[0] ?? ""));
}

/** Waits until etcd lists members with both schemes. */
async function untilHalfway(): Promise<void> {
  await eventually(
    async () =>
      expect(new Set(await reached()), JSON.stringify((await cluster.get()).status?.conditions)).toHaveLength(2),
    SWITCHED_MS,
  );
}

async function untilSettled(of: (found: EtcdCluster) => boolean): Promise<EtcdCluster> {
  return await eventually(async () => {
    const found = await cluster.get();
    const { metadata, status } = found;
    const isSettled =
      status?.observedGeneration === metadata.generation &&
      status?.update === undefined &&
      status?.conditions?.some(({ type, status: is }) => type === "UpToDate" && is === "True") === true;
    expect(isSettled && of(found), JSON.stringify(status?.conditions)).toBe(true);
    return found;
  }, SWITCHED_MS);
}

/** Edits the cluster, and reverts the edit halfway, under a load that must lose nothing. */
async function takenBack(edit: object, back: object, isBack: (found: EtcdCluster) => boolean): Promise<EtcdCluster> {
  const load = new Load(namespace.name, "my-etcd", { again: "once" });
  try {
    await load.untilServed();
    await cluster.patch(edit as Partial<EtcdClusterSpec>);
    await untilHalfway();
    await cluster.patch(back as Partial<EtcdClusterSpec>);
    const found = await untilSettled(isBack);
    await load.untilServed();
    await expectNothingLost(load);
    expectNobodyFailed(load);
    return found;
  } finally {
    await load[Symbol.asyncDispose]();
  }
}

const conditionsOf = ({ status }: EtcdCluster) =>
  Object.fromEntries((status?.conditions ?? []).map(({ type, reason }) => [type, reason]));
const idsOf = ({ status }: EtcdCluster) => status?.members?.map(({ id }) => id);

test(
  "a TLS switch that is reverted halfway is rolled back, and no request of clients fails",
  async () => {
    const before = await cluster.get();
    const plain = await takenBack(
      { tls: { peer: OPERATOR, client: OPERATOR } },
      // No client has switched yet, so none needs time to switch back.
      { tls: { peer: NONE, client: { ...NONE, plaintextFor: "0s" } } },
      ({ status }) => status?.tls?.client?.scheme === "http" && status.tls.certificates === undefined,
    );
    expect(await reached()).toEqual(["http", "http", "http"]);
    expect(conditionsOf(plain)).toMatchObject({ Ready: "AllMembersHealthy", TLSReady: "TLSDisabled" });
    expect(idsOf(plain)).toEqual(idsOf(before));

    await cluster.patch({ tls: { peer: OPERATOR, client: { ...OPERATOR, plaintextFor: "1h" } } });
    await untilSettled(({ status }) => status?.tls?.client?.bothServedSince !== undefined);
    expect(await reached()).toEqual(["https", "https", "https"]);
    const secured = await takenBack({ tls: { peer: NONE } }, { tls: { peer: OPERATOR } }, () => true);
    expect(await reached()).toEqual(["https", "https", "https"]);
    expect(conditionsOf(secured)).toMatchObject({ Ready: "AllMembersHealthy", TLSReady: "CertificatesValid" });
    expect(idsOf(secured)).toEqual(idsOf(before));
  },
  4 * SWITCHED_MS,
);
