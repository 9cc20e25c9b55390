import assert from "node:assert/strict";
import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { systemClock } from "#base/clock.ts";
import { hasCode } from "#base/error.ts";
import type { CallReport, EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { Cluster, Maintenance } from "#etcd/proto/etcdserverpb/rpc_pb.js";
import { TransportPool } from "#etcd/transport.ts";
import { clusterId, memberId } from "#etcd/types.ts";
import { ETCD_VERSIONS, neverAborted, startEtcd } from "#kit/etcd/etcd.ts";

const options = { signal: neverAborted, deadlineMs: 5_000 };
const CLUSTER = clusterId(7n);
const header = { clusterId: CLUSTER, memberId: 1n, raftTerm: 3n, revision: 9n };

const isLost = (thrown: unknown) => hasCode(thrown, "LeaseLost") && thrown.message.includes("not sent");

/** Every call that changes something. */
const CHANGES: Readonly<Record<string, (etcd: EtcdClient, at: Endpoint) => Promise<unknown>>> = {
  MemberAdd: (etcd, at) => etcd.addLearner(at, ["http://10.0.0.9:2380"], options),
  MemberPromote: (etcd, at) => etcd.promote(at, memberId(1n), options),
  MemberRemove: (etcd, at) => etcd.removeMember(at, memberId(1n), options),
  MoveLeader: (etcd, at) => etcd.moveLeader(at, memberId(1n), options),
  Alarm: (etcd, at) => etcd.disarmAlarm(at, { memberId: memberId(1n), type: "NOSPACE" }, options),
  Downgrade: (etcd, at) => etcd.downgrade(at, "ENABLE", "3.5", options),
  Put: (etcd, at) => etcd.put(at, "key", "value", options),
  DeleteRange: (etcd, at) => etcd.deleteRange(at, "key", options),
};

describe("writes to etcd need the operator's lease until they are sent:", () => {
  let server: Http2Server;
  let sessions: ServerHttp2Session[];
  let received: string[];
  let onStatus: () => void;
  let leads: boolean;
  let reports: CallReport[];
  let pool: TransportPool;
  let etcd: EtcdClient;
  let endpoint: Endpoint;

  beforeEach(async () => {
    [sessions, received, reports, leads, onStatus] = [[], [], [], true, () => undefined];
    const handle = connectNodeAdapter({
      routes: (router) => {
        router.service(Cluster, {
          memberRemove: () => ({ header }),
          memberList: () => ({ header }),
        });
        router.service(Maintenance, {
          status: () => {
            onStatus();
            return { header };
          },
          alarm: () => ({ header }),
        });
      },
    });
    // Received requests, counted by their heads: a change that is not sent leaves no trace.
    server = createServer();
    server.on("session", (session) => sessions.push(session));
    server.on("stream", (_stream, head) => received.push(`${head[":path"]}`.replace(/.*\//, "")));
    server.on("request", handle);
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    endpoint = { address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
    pool = new TransportPool(systemClock);
    etcd = new GrpcClient({
      pool,
      clock: systemClock,
      mayChange: () => leads,
      onCall: (report) => reports.push(report),
    });
  });
  afterEach(async () => {
    vi.useRealTimers();
    pool.closeAll();
    for (const session of sessions) session.destroy();
    await new Promise((done) => server.close(done));
  });

  const remove = (expectedClusterId = false) =>
    etcd.removeMember(endpoint, memberId(2n), {
      ...options,
      ...(expectedClusterId ? { expectedClusterId: CLUSTER } : {}),
    });

  test("writes are sent while the process holds the lease", async () => {
    await remove(true);
    await etcd.disarmAlarm(endpoint, { memberId: undefined, type: "CORRUPT" }, options);
    assert.deepEqual(received, ["Status", "MemberRemove", "Alarm"]);
  });

  test.each(Object.entries(CHANGES))("%s is not sent without the lease", async (method, change) => {
    leads = false;
    await assert.rejects(change(etcd, endpoint), isLost);
    assert.deepEqual(received, []);
    assert.deepEqual(
      reports.map(({ method, code }) => `${method} ${code}`),
      [`${method} LeaseLost`],
    );
  });

  test("reads need no lease", async () => {
    leads = false;
    await etcd.status(endpoint, options);
    await etcd.memberList(endpoint, { ...options, linearizable: true });
    await etcd.alarms(endpoint, options);
    assert.deepEqual(received, ["Status", "MemberList", "Alarm"]);
  });

  test("nothing is sent when the lease is lost during the connection set-up", async () => {
    const change = remove();
    leads = false;
    await assert.rejects(change, isLost);
    assert.equal(sessions.length, 1);
    assert.deepEqual(received, []);
  });

  test("a write is not sent when the lease is lost during the check of the cluster ID", async () => {
    onStatus = () => {
      leads = false;
    };
    await assert.rejects(remove(true), isLost);
    assert.deepEqual(received, ["Status"]);
  });

  test("a write is not sent when the lease is lost right before it, with an open connection", async () => {
    await etcd.status(endpoint, options);
    const change = remove();
    leads = false;
    await assert.rejects(change, isLost);
    assert.deepEqual(received, ["Status"]);
    // The connection is still usable.
    leads = true;
    await remove();
    assert.deepEqual(received, ["Status", "MemberRemove"]);
    assert.equal(sessions.length, 1);
  });

  test.each(["in order", "at once"])(
    "a write is not sent when the lease is lost while a connection that ended %s is replaced",
    async (how) => {
      await etcd.status(endpoint, options);
      if (how === "in order") sessions[0]?.goaway(0);
      else sessions[0]?.destroy();
      server.once("session", () => {
        leads = false;
      });
      await setTimeout(100); // until the client side knows
      await assert.rejects(remove(), isLost);
      assert.deepEqual(received, ["Status"]);
      assert.equal(sessions.length, 2);
    },
  );
});

test.each(ETCD_VERSIONS)("a real etcd %s gets writes only while the process holds the lease", async (version) => {
  const real = await startEtcd({ version, members: 1 });
  try {
    let leads = false;
    const etcd = new GrpcClient({ pool: real.pool, clock: systemClock, mayChange: () => leads });
    const { endpoint } = real.members[0]!;
    const list = () => etcd.memberList(endpoint, { ...options, linearizable: true });
    const { clusterId: expectedClusterId, members, raftTerm } = await list();
    const add = () => etcd.addLearner(endpoint, ["http://127.0.0.1:1"], { ...options, expectedClusterId });
    await assert.rejects(add(), isLost);
    for (const change of Object.values(CHANGES)) await assert.rejects(change(etcd, endpoint), isLost);
    assert.deepEqual((await list()).members, members);
    assert.equal(await etcd.get(endpoint, "key", options), undefined);
    leads = true;
    await add();
    await etcd.put(endpoint, "key", "value", options);
    const after = await list();
    assert.equal(after.members.length, 2);
    assert.equal(after.raftTerm, raftTerm);
  } finally {
    await real.stop();
  }
});
