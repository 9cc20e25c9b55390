import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import { hasCode } from "#base/error.ts";
import type { CallOptions, CallReport } from "#etcd/client.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { clusterId } from "#etcd/types.ts";
import { ETCD_VERSIONS, neverAborted, type RunningEtcd, startEtcd } from "#kit/etcd/etcd.ts";

const options: CallOptions = { signal: neverAborted };
const stranger: CallOptions = { ...options, expectedClusterId: clusterId(1n) };

describe.each(ETCD_VERSIONS)("client of etcd %s", (version) => {
  let etcd: RunningEtcd;
  beforeAll(async () => {
    etcd = await startEtcd({ version, members: 3 });
  });
  afterAll(() => etcd.stop());
  const first = () => etcd.members[0]!.endpoint;

  test("status has the IDs, the version, the leader and the raft progress", async () => {
    const all = await Promise.all(etcd.members.map((member) => etcd.client.status(member.endpoint, options)));
    const status = all[0]!;
    assert.equal(status.version, version);
    assert.ok(status.leaderId !== undefined && all.some((one) => one.memberId === status.leaderId));
    assert.equal(new Set(all.map((one) => one.memberId)).size, 3);
    assert.equal(new Set(all.map((one) => one.clusterId)).size, 1);
    assert.ok(status.dbSizeBytes > 0 && status.dbSizeInUseBytes > 0);
    assert.ok(status.raftAppliedIndex > 0 && status.raftIndex >= status.raftAppliedIndex);
    assert.equal(status.isLearner, false);
    assert.equal(status.downgradeTo, undefined);
    assert.deepEqual(status.alarms, []);
    // Only 3.6 and later report the quota.
    assert.equal(status.dbSizeQuotaBytes === undefined, version === "3.5.35");
  });

  test.each([true, false])("member list, linearizable: %s", async (linearizable) => {
    const list = await etcd.client.memberList(first(), { ...options, linearizable });
    const status = await etcd.client.status(first(), options);
    assert.equal(list.answeredBy, status.memberId);
    assert.equal(list.clusterId, status.clusterId);
    assert.ok(list.raftTerm > 0);
    assert.deepEqual(
      list.members.map(({ name, peerUrls, clientUrls, isLearner }) => ({ name, peerUrls, clientUrls, isLearner })),
      list.members.map(({ name }) => {
        const member = etcd.members.find((one) => one.plan.name === name);
        assert.ok(member !== undefined);
        return {
          name,
          peerUrls: [member.peerUrl],
          clientUrls: [`http://${member.endpoint.address}`],
          isLearner: false,
        };
      }),
    );
    assert.equal(list.members.length, 3);
  });

  test("keys are written, read on another member, and deleted", async () => {
    const [, second] = etcd.members;
    const revision = await etcd.client.put(first(), "greeting/a", "hello", options);
    await etcd.client.put(first(), new TextEncoder().encode("greeting/b"), new Uint8Array([0, 255]), options);
    const found = await etcd.client.get(second!.endpoint, "greeting/a", options);
    assert.equal(new TextDecoder().decode(found?.value), "hello");
    assert.equal(found?.modRevision, revision);
    assert.equal(found?.version, 1);
    const bytes = await etcd.client.get(first(), "greeting/b", { ...options, serializable: true });
    assert.deepEqual([...(bytes?.value ?? [])], [0, 255]);
    assert.equal(await etcd.client.deleteRange(first(), "greeting/", { ...options, rangeEnd: "greeting0" }), 2);
    assert.equal(await etcd.client.get(second!.endpoint, "greeting/a", options), undefined);
  });

  test("all members report the same hash of their data", async () => {
    const revision = await etcd.client.put(first(), "hashed", "yes", options);
    // A linearizable read makes each member apply everything up to here.
    for (const member of etcd.members) await etcd.client.get(member.endpoint, "hashed", options);
    const hashes = await Promise.all(
      etcd.members.map((member) => etcd.client.hashKv(member.endpoint, { ...options, revision })),
    );
    assert.equal(new Set(hashes.map((one) => `${one.hash} ${one.compactRevision} ${one.hashRevision}`)).size, 1);
    assert.ok(hashes[0]!.hash > 0);
  });

  test("an answer from a cluster with another ID is rejected, and no write is sent to that cluster", async () => {
    const wrongCluster = (thrown: unknown) => hasCode(thrown, "EtcdWrongCluster");
    await assert.rejects(etcd.client.status(first(), stranger), wrongCluster);
    await assert.rejects(etcd.client.memberList(first(), { ...stranger, linearizable: true }), wrongCluster);
    await assert.rejects(etcd.client.put(first(), "stray", "x", stranger), wrongCluster);
    await assert.rejects(etcd.client.addLearner(first(), ["http://127.0.0.1:1"], stranger), wrongCluster);
    assert.equal(await etcd.client.get(first(), "stray", options), undefined);
    const { members, clusterId: right } = await etcd.client.memberList(first(), { ...options, linearizable: true });
    assert.equal(members.length, 3);
    await etcd.client.put(first(), "stray", "x", { ...options, expectedClusterId: right });
    const probed = await etcd.client.probe(first(), stranger);
    assert.ok(probed.is === "unknown" && probed.why.includes("expected 1"));
  });

  test("the leader transfers leadership to the named member", async () => {
    const all = await Promise.all(
      etcd.members.map(async ({ endpoint }) => ({ endpoint, status: await etcd.client.status(endpoint, options) })),
    );
    const leader = all.find(({ status }) => status.memberId === status.leaderId)!;
    const follower = all.find(({ status }) => status.memberId !== status.leaderId)!;
    await etcd.client.moveLeader(leader.endpoint, follower.status.memberId, { ...options, deadlineMs: 5_000 });
    const now = await etcd.client.status(follower.endpoint, options);
    assert.equal(now.leaderId, follower.status.memberId);
  });

  test("each call is reported to the observer once, with its outcome", async () => {
    const reports: CallReport[] = [];
    const client = new GrpcClient({ pool: etcd.pool, clock: systemClock, onCall: (report) => reports.push(report) });
    await client.status(first(), options);
    await client.status(first(), stranger).catch(() => undefined);
    const told = reports.map(({ method, code, address }) => ({ method, code, address }));
    assert.deepEqual(told, [
      { method: "Status", code: "OK", address: first().address },
      { method: "Status", code: "EtcdWrongCluster", address: first().address },
    ]);
    assert.ok(reports.every((report) => report.durationMs > 0 && report.durationMs < 2_000));
  });
});
