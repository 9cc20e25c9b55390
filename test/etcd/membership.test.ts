import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { hasCode } from "#base/error.ts";
import type { CallOptions } from "#etcd/client.ts";
import { type EtcdRefusal, refusalOf } from "#etcd/error.ts";
import { memberId } from "#etcd/types.ts";
import { ETCD_VERSIONS, type EtcdMember, neverAborted, type RunningEtcd, startEtcd, until } from "#kit/etcd/etcd.ts";

const options: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };

function refusedWith(refusal: EtcdRefusal): (thrown: unknown) => boolean {
  return (thrown) => hasCode(thrown, "EtcdRejected") && refusalOf(thrown) === refusal;
}

// The tests of one version tell one story, in order: a learner is added, catches up, is promoted, and is removed.
describe.each(ETCD_VERSIONS)("membership of etcd %s", (version) => {
  let etcd: RunningEtcd;
  let learner: EtcdMember;
  beforeAll(async () => {
    etcd = await startEtcd({ version, members: 3 });
    learner = await etcd.spare("m3");
    await eventually("Unhealthy", () => etcd.client.addLearner(first(), [learner.peerUrl], options));
  });
  afterAll(() => etcd.stop());
  const first = () => etcd.members[0]!.endpoint;
  const list = async () => (await etcd.client.memberList(first(), { ...options, linearizable: true })).members;
  const listed = async () => {
    const found = (await list()).find((member) => member.peerUrls.includes(learner.peerUrl));
    assert.ok(found !== undefined);
    return found;
  };

  test("a learner that has not started is listed without a name", async () => {
    const { name, clientUrls, isLearner } = await listed();
    assert.deepEqual({ name, clientUrls, isLearner }, { name: "", clientUrls: [], isLearner: true });
  });

  test("a learner cannot be promoted before it has caught up", async () => {
    const { id } = await listed();
    await assert.rejects(etcd.client.promote(first(), id, options), refusedWith("LearnerNotReady"));
  });

  test("a second learner and a learner with a used peer URL are refused", async () => {
    const second = etcd.client.addLearner(first(), ["http://127.0.0.1:1"], options);
    await assert.rejects(second, refusedWith("TooManyLearners"));
    const again = etcd.client.addLearner(first(), [etcd.members[1]!.peerUrl], options);
    await assert.rejects(again, refusedWith("PeerURLExist"));
  });

  test("an unknown member can be neither promoted nor removed; a voter cannot be promoted", async () => {
    const nobody = memberId(1n);
    await assert.rejects(etcd.client.promote(first(), nobody, options), refusedWith("MemberNotFound"));
    await assert.rejects(etcd.client.removeMember(first(), nobody, options), refusedWith("MemberNotFound"));
    const voter = (await list()).find((member) => !member.isLearner)!;
    await assert.rejects(etcd.client.promote(first(), voter.id, options), refusedWith("MemberNotLearner"));
  });

  test("a started learner reports its role, refuses most requests, and is alive but not ready", async () => {
    await learner.start({
      initialCluster: `${etcd.initialCluster},${learner.plan.name}=${learner.peerUrl}`,
      state: "existing",
    });
    await until(
      "the learner answers",
      async () => (await etcd.client.probe(learner.endpoint, options)).is === "present",
    );
    assert.equal((await etcd.client.status(learner.endpoint, options)).isLearner, true);
    const asked = etcd.client.memberList(learner.endpoint, { ...options, linearizable: true });
    await assert.rejects(asked, refusedWith("NotSupportedForLearner"));
    assert.equal(await learner.httpStatus("/livez"), 200);
    assert.equal(await learner.httpStatus("/readyz"), 503);
  });

  test("leadership cannot be transferred to a learner, and only the leader can transfer it", async () => {
    const { id } = await listed();
    const statuses = await Promise.all(
      etcd.members.map(async ({ endpoint }) => ({ endpoint, status: await etcd.client.status(endpoint, options) })),
    );
    const leader = statuses.find(({ status }) => status.memberId === status.leaderId)!;
    const follower = statuses.find(({ status }) => status.memberId !== status.leaderId)!;
    await assert.rejects(etcd.client.moveLeader(leader.endpoint, id, options), refusedWith("BadLeaderTransferee"));
    await assert.rejects(
      etcd.client.moveLeader(follower.endpoint, follower.status.memberId, options),
      refusedWith("NotLeader"),
    );
  });

  test("a learner that has caught up can be promoted", async () => {
    const { id } = await listed();
    const after = await eventually("LearnerNotReady", () => etcd.client.promote(first(), id, options));
    assert.equal(after.members.find((member) => member.id === id)?.isLearner, false);
    assert.equal((await listed()).name, learner.plan.name);
    await until("it is ready", async () => (await learner.httpStatus("/readyz")) === 200);
  });

  test("a removed member is not listed any more, and its process ends", async () => {
    const { id } = await listed();
    const after = await eventually("Unhealthy", () => etcd.client.removeMember(first(), id, options));
    assert.deepEqual(
      after.members.map((member) => member.name),
      etcd.members.map((member) => member.plan.name).sort((a, b) => order(after.members, a) - order(after.members, b)),
    );
    await learner.exited();
  });

  test("a removal that would cost the quorum is refused", async () => {
    const { id } = (await list()).find((member) => member.name === "m1")!;
    await etcd.members[2]!.kill();
    // The others count it as connected for a moment, and no answer shows when that ends.
    await sleep(2_000);
    // Of the three voters m0 and m1 are left; without m1, m0 would be alone in a list of two.
    await until("the removal is refused", async () => {
      const removal = etcd.client.removeMember(first(), id, options);
      const thrown = await removal.then(
        () => assert.fail("the removal was made"),
        (error: unknown) => error,
      );
      if (hasCode(thrown, "EtcdUnavailable")) return false; // an election is under way
      return refusedWith("Unhealthy")(thrown) || refusedWith("MemberNotEnoughStarted")(thrown);
    });
    const known = await etcd.client.memberList(first(), { ...options, linearizable: false });
    assert.equal(known.members.length, 3);
  });
});

function order(members: readonly { name: string }[], name: string): number {
  return members.findIndex((member) => member.name === name);
}

/** Repeats a call while etcd refuses it this way. */
async function eventually<T>(refusal: EtcdRefusal, call: () => Promise<T>): Promise<T> {
  let result: T | undefined;
  await until(`etcd no longer refuses with ${refusal}`, async () => {
    try {
      result = await call();
      return true;
    } catch (thrown) {
      if (refusalOf(thrown) === refusal) return false;
      throw thrown;
    }
  });
  return result as T;
}
