import assert from "node:assert/strict";
import { Code, ConnectError, createClient, createRouterTransport, type HandlerContext } from "@connectrpc/connect";
import { test } from "vitest";
import { hasCode } from "#base/error.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { CallReport } from "./client.ts";
import { GrpcClient } from "./grpc-client.ts";
import { Auth, Cluster, KV, Maintenance } from "./proto/etcdserverpb/rpc_pb.js";
import { clusterId, memberId } from "./types.ts";

const endpoint = { address: "10.0.0.1:2379" };
const signal = new AbortController().signal;
const header = { clusterId: 7n, memberId: 1n, raftTerm: 3n, revision: 9n };

/** A member that answers from memory. `calls` has the calls that reached it, `reports` the client's reports of them. */
function memberWith(handlers: {
  status?: (context: HandlerContext) => object | Promise<object>;
  put?: () => object;
  moveLeader?: () => object;
  memberList?: () => object;
}) {
  const calls: string[] = [];
  const reports: CallReport[] = [];
  const clock = new FakeClock();
  const transport = createRouterTransport((router) => {
    router.service(Maintenance, {
      async status(_request, context) {
        calls.push("Status");
        return (await handlers.status?.(context)) ?? { header };
      },
      moveLeader() {
        calls.push("MoveLeader");
        return handlers.moveLeader?.() ?? {};
      },
    });
    router.service(KV, {
      put() {
        calls.push("Put");
        return handlers.put?.() ?? { header };
      },
    });
    router.service(Cluster, {
      memberList() {
        calls.push("MemberList");
        return handlers.memberList?.() ?? { header };
      },
    });
  });
  const services = {
    kv: createClient(KV, transport),
    cluster: createClient(Cluster, transport),
    maintenance: createClient(Maintenance, transport),
    auth: createClient(Auth, transport),
  };
  const pool = { servicesOf: () => services };
  const client = new GrpcClient({ pool, clock, onCall: (report) => reports.push(report) });
  return { client, clock, calls, reports };
}

test("zero and empty values in an older etcd's response become undefined", async () => {
  const { client } = memberWith({ status: () => ({ header, version: "3.5.35", leader: 0n, raftIndex: 5n }) });
  const status = await client.status(endpoint, { signal });
  assert.equal(status.memberId, memberId(1n));
  assert.equal(status.clusterId, clusterId(7n));
  assert.equal(status.raftIndex, 5);
  assert.equal(status.leaderId, undefined);
  assert.equal(status.dbSizeQuotaBytes, undefined);
  assert.equal(status.storageVersion, undefined);
  assert.equal(status.downgradeTo, undefined);
});

test("a downgrade in progress is reported", async () => {
  const downgradeInfo = { enabled: true, targetVersion: "3.6.0" };
  const { client } = memberWith({ status: () => ({ header, leader: 2n, downgradeInfo }) });
  const status = await client.status(endpoint, { signal });
  assert.equal(status.downgradeTo, "3.6.0");
  assert.equal(status.leaderId, memberId(2n));
});

test("a change without an expected cluster ID is sent at once", async () => {
  const { client, calls } = memberWith({});
  assert.equal(await client.put(endpoint, "k", "v", { signal }), 9);
  assert.deepEqual(calls, ["Put"]);
});

test("a change is sent only after the member's cluster ID was checked", async () => {
  const { client, calls } = memberWith({});
  const wrong = client.put(endpoint, "k", "v", { signal, expectedClusterId: clusterId(8n) });
  await assert.rejects(wrong, (thrown) => hasCode(thrown, "EtcdWrongCluster") && thrown.message.includes("cluster 7"));
  assert.deepEqual(calls, ["Status"]);
  await client.put(endpoint, "k", "v", { signal, expectedClusterId: clusterId(7n) });
  assert.deepEqual(calls, ["Status", "Status", "Put"]);
});

test("the cluster ID check and the change share one deadline", async () => {
  const { client, calls, clock } = memberWith({
    status: async () => {
      await clock.advance(2_000);
      return { header };
    },
  });
  const late = client.put(endpoint, "k", "v", { signal, expectedClusterId: clusterId(7n), deadlineMs: 2_000 });
  await assert.rejects(late, (thrown) => hasCode(thrown, "EtcdUnavailable"));
  assert.deepEqual(calls, ["Status"]);
});

test("a fraction of a millisecond is rounded up, since gRPC deadlines are whole milliseconds", async () => {
  let timeoutMs: number | undefined;
  const { client } = memberWith({
    status: (context) => {
      timeoutMs = context.timeoutMs();
      return { header };
    },
  });
  await client.status(endpoint, { signal, deadlineMs: 1_499.25 });
  assert.ok(timeoutMs !== undefined && timeoutMs <= 1_500 && timeoutMs > 1_000);
  await client.status(endpoint, { signal, deadlineMs: 0.5 }).catch((thrown) => {
    assert.ok(hasCode(thrown, "EtcdUnavailable")); // 1 ms may pass before the answer
  });
});

test("a response without a header is an error, except for calls with responses that have none", async () => {
  const { client } = memberWith({ memberList: () => ({}) });
  await assert.rejects(client.memberList(endpoint, { signal, linearizable: true }), (thrown) =>
    hasCode(thrown, "EtcdRejected"),
  );
  await client.moveLeader(endpoint, memberId(2n), { signal });
});

test("a probe returns an error as unknown, and throws when its pass is cancelled", async () => {
  const { client } = memberWith({
    status: () => {
      throw new ConnectError("down", Code.Unavailable);
    },
  });
  const seen = await client.probe(endpoint, { signal });
  assert.deepEqual(seen, { is: "unknown", why: "Status at 10.0.0.1:2379: down" });
  await assert.rejects(client.probe(endpoint, { signal: AbortSignal.abort() }), (thrown) =>
    hasCode(thrown, "Cancelled"),
  );
});

test("each call is reported with its duration and code", async () => {
  const { client, reports, clock } = memberWith({
    status: async () => {
      await clock.advance(30);
      return { header };
    },
  });
  await client.status(endpoint, { signal });
  await client.status(endpoint, { signal, expectedClusterId: clusterId(8n) }).catch(() => undefined);
  assert.deepEqual(reports, [
    { method: "Status", code: "OK", durationMs: 30, address: endpoint.address },
    { method: "Status", code: "EtcdWrongCluster", durationMs: 30, address: endpoint.address },
  ]);
});
