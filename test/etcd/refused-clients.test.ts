import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import { CLIENTS, Load } from "#kit/e2e/load.ts";
import { refusedIn } from "#kit/e2e/refused.ts";
import { type Authority, flagFiles, newAuthority } from "#kit/etcd/authority.ts";
import { type EtcdVersionText, planEtcd, type RunningEtcd, until } from "#kit/etcd/etcd.ts";
import { EtcdctlClient } from "#kit/etcd/etcdctl-client.ts";
import { startFaultProxy } from "#kit/servers/fault-proxy.ts";

// The clients of long stories must find refused requests, even a single one, and ignore requests that are cut off.

/** Time for a refused request to end, as etcdctl waits for it, in milliseconds. */
const REFUSED_MS = 7_000;
/** Time for all clients to connect. */
const WITHIN = { timeout: 60_000, interval: 50 };

let etcd: RunningEtcd;
let ours: Authority;
let tls: TlsIdentity;

beforeAll(async () => {
  ours = await newAuthority();
  tls = { ca: ours.pem, ...(await ours.issue("application")), serverName: "localhost" };
  etcd = await planEtcd({ version: DEFAULT_VERSION as EtcdVersionText, members: 1 });
  await start();
});
afterAll(() => etcd.stop());

/** Makes etcd serve a certificate that this authority has signed. @returns flags */
async function show(by: Authority): Promise<readonly string[]> {
  const { cert, key } = await by.issue("localhost");
  const files = { "trusted-ca-file": ours.pem, "cert-file": cert, "key-file": key };
  return flagFiles(`${etcd.members[0]?.plan.dir}-tls`, files);
}

async function start(): Promise<void> {
  const member = etcd.members[0]!;
  await member.start({ initialCluster: etcd.initialCluster, state: "new" }, [
    `--listen-client-urls=https://${member.endpoint.address}`,
    `--advertise-client-urls=https://${member.endpoint.address}`,
    "--client-cert-auth",
    ...(await show(ours)),
  ]);
  await until("the member is ready", async () => (await member.httpStatus("/health")) === 200);
}

/** Always returns one object for one identity, as a Reach does. */
function reachAs(identity: TlsIdentity) {
  const endpoint: Endpoint = { address: `localhost:${etcd.members[0]?.plan.clientPort}`, tls: identity };
  return { endpoint: () => endpoint };
}

test("no request of etcdctl fails during a restart of etcd and a certificate change, and no watch event is missed", async () => {
  await using client = await EtcdctlClient.start(reachAs(tls));
  await client.expectServed();
  await etcd.members[0]?.terminate();
  await start();
  await client.expectServed();
  client.turnTo(reachAs({ ...tls, ...(await ours.issue("application")) }));
  await client.expectServed();
  // Another CA bundle: the watch is restarted where it ended.
  client.turnTo(reachAs({ ...tls, ca: ours.pem + (await newAuthority()).pem }));
  await client.expectServed();
  await client.end();
}, 120_000);

test("a client with an open connection uses the current CA bundle for its next connection", async () => {
  const theirs = await newAuthority();
  const proxy = await startFaultProxy(etcd.members[0]?.plan.clientPort ?? 0);
  const address = `localhost:${proxy.port}`;
  let now: Endpoint = { address, tls };
  const load = new Load("", "", { again: "once", everyMs: 1_000, reach: { endpoint: () => now } });
  try {
    await vi.waitFor(() => expect(proxy.opened).toBe(CLIENTS), WITHIN);
    await load.untilServed();
    now = { address, tls: { ...tls, ca: tls.ca + theirs.pem } };
    // etcd reads its certificate at each handshake.
    await show(theirs);
    proxy.reset();
    await vi.waitFor(() => expect(proxy.opened).toBe(2 * CLIENTS), WITHIN);
    expect(await load.end()).toEqual([]);
    expect(refusedIn(load.felt(0).firstWhy)).toEqual([]);
  } finally {
    await load[Symbol.asyncDispose]();
    await show(ours);
    await proxy.stop();
  }
});

test("the load generator reports refusals even if only the first attempt of its clients is refused", async () => {
  const wrong = reachAs({ ...tls, ca: (await newAuthority()).pem }).endpoint();
  const right = reachAs(tls).endpoint();
  let asked = 0;
  // Each client asks when it is created, and in its first try.
  const endpoint = () => (asked++ < 2 * CLIENTS ? wrong : right);
  await using load = new Load("", "", { again: "once", reach: { endpoint } });
  await load.untilServed();
  expect(await load.end()).toEqual([]);
  const { failedRequests, firstWhy } = load.felt(0);
  expect(failedRequests).toBe(0);
  expect(refusedIn(firstWhy)).toHaveLength(CLIENTS);
});

test.each([
  ["the CA bundle", async () => ({ ...tls, ca: (await newAuthority()).pem })],
  ["the client certificate", async () => ({ ...tls, ...(await (await newAuthority()).issue("application")) })],
])(
  "%s is wrong for a moment: the client reports refusals",
  async (_, wrong) => {
    await using client = await EtcdctlClient.start(reachAs(tls));
    await client.expectServed();
    client.turnTo(reachAs(await wrong()));
    await sleep(REFUSED_MS - 2_000);
    client.turnTo(reachAs(tls));
    await sleep(REFUSED_MS);
    expect(client.refused).not.toEqual([]);
    await expect(client.expectServed()).rejects.toThrow();
  },
  120_000,
);
