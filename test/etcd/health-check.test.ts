import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import { hasCode } from "#base/error.ts";
import type { CallOptions } from "#etcd/client.ts";
import { refusalOf } from "#etcd/error.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import type { MemberId } from "#etcd/types.ts";
import { raiseCorrupt } from "#kit/e2e/load-accidents.ts";
import { ETCD_VERSIONS, type EtcdMember, neverAborted, type RunningEtcd, startEtcd, until } from "#kit/etcd/etcd.ts";

const options: CallOptions = { signal: neverAborted, deadlineMs: 1_000 };

/** More than the hundred entries after which etcd 3.6 and 3.7 send a new member a snapshot. */
const ENTRIES = 150;
/** Three of four joining members are late: the chance that none of these is late is 1 in 16,000. */
const MOST_TRIES = 7;

describe.each(ETCD_VERSIONS)("etcd's own health check, version %s", (version) => {
  let etcd: RunningEtcd;
  beforeAll(async () => {
    etcd = await startEtcd({ version, members: 3 });
    for (let entry = 0; entry < ENTRIES; entry++) await etcd.client.put(first().endpoint, "key", `${entry}`, options);
  });
  afterAll(() => etcd.stop());
  const first = () => etcd.members[0]!;
  const passes = async (member: EtcdMember) => {
    const seen = await etcd.client.health(member.metricsAddress, options);
    return seen.is === "present" ? seen.value : undefined;
  };

  test("a member that follows a leader passes and reports its ID", async () => {
    for (const member of etcd.members)
      assert.equal(await passes(member), (await etcd.client.status(member.endpoint, options)).memberId);
  });

  test.skipIf(version.startsWith("3.5."))(
    "a learner passes and can be promoted before its client port answers",
    async () => {
      for (let tries = 1; ; tries++) {
        assert.ok(tries <= MOST_TRIES, `none of ${MOST_TRIES} members was late`);
        const { learner, id } = await joined(`late${tries}`);
        await until("it passes", async () => (await passes(learner)) !== undefined);
        const isLate = (await etcd.client.probe(learner.endpoint, { ...options, deadlineMs: 300 })).is === "unknown";
        if (isLate) {
          assert.equal(await passes(learner), id);
          await etcd.client.promote(first().endpoint, id, options);
          // A readiness probe on the metrics port would route clients to a silent port.
          await until("it calls itself ready there", async () => {
            return (await fetch(`http://${learner.metricsAddress}/readyz`)).status === 200;
          });
          assert.equal(await learner.httpStatus("/readyz", 300), undefined);
        }
        await changed(() => etcd.client.removeMember(first().endpoint, id, options));
        await learner.kill();
        if (isLate) return;
      }
    },
  );

  /** Adds and starts a learner. */
  async function joined(name: string): Promise<{ learner: EtcdMember; id: MemberId }> {
    const learner = await etcd.spare(name);
    const added = await changed(() => etcd.client.addLearner(first().endpoint, [learner.peerUrl], options));
    await learner.start({ initialCluster: `${etcd.initialCluster},${name}=${learner.peerUrl}`, state: "existing" });
    return { learner, id: added.member.id };
  }

  test("no member passes while the alarm CORRUPT is raised", async () => {
    const { memberId } = await etcd.client.status(first().endpoint, options);
    await raiseCorrupt(first().endpoint.address, `${memberId}`);
    assert.equal(await passes(first()), undefined);
    await etcd.client.disarmAlarm(first().endpoint, { memberId, type: "CORRUPT" }, options);
    assert.equal(await passes(first()), memberId);
  });

  test("a frozen member fails at the deadline, and the caller's abort signal ends the check with Cancelled", async () => {
    await first().freeze();
    try {
      const startedAtMs = performance.now();
      const seen = await etcd.client.health(first().metricsAddress, { ...options, deadlineMs: 300 });
      assert.equal(seen.is, "unknown");
      assert.ok(performance.now() - startedAtMs < 1_000);
      const cancelled = etcd.client.health(first().metricsAddress, { ...options, signal: AbortSignal.timeout(100) });
      await assert.rejects(cancelled, (thrown) => hasCode(thrown, "Cancelled"));
    } finally {
      first().thaw();
    }
  });

  test("a member without a quorum and a stopped member do not pass", async () => {
    await Promise.all([etcd.members[1]!.kill(), etcd.members[2]!.kill()]);
    await until("it no longer passes", async () => (await passes(first())) === undefined);
    await first().kill();
    const seen = await etcd.client.health(first().metricsAddress, options);
    assert.ok(seen.is === "unknown" && seen.why.startsWith(`GET /health at ${first().metricsAddress}: `));
  });
});

describe("the health check of a server that may be no etcd", () => {
  let server: Server;
  let metrics = "";
  beforeAll(async () => {
    server = createServer((request, response) => response.end(request.url === "/metrics" ? metrics : "{}"));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  });
  afterAll(() => server.close());
  const client = new GrpcClient({ pool: new TransportPool(systemClock), clock: systemClock });
  const etcdAt = () => `127.0.0.1:${(server.address() as AddressInfo).port}`;

  test.each([
    ["no ID", ""],
    ["an invalid ID", 'etcd_server_id{server_id="0"} 1'],
    ["an ID that is not its own", 'etcd_server_id{server_id="8e9e05c52164694d"} 0'],
    [
      "more text than etcd ever returns",
      `etcd_server_id{server_id="8e9e05c52164694d"} 1\n${"x".repeat(5 * 1024 ** 2)}`,
    ],
  ])("fails with %s in the metrics", async (_what, told) => {
    metrics = told;
    assert.equal((await client.health(etcdAt(), options)).is, "unknown");
  });

  test("passes with a valid ID in the metrics", async () => {
    metrics = 'first 1\netcd_server_id{server_id="8e9e05c52164694d"} 1\nlast 1\n';
    assert.deepEqual(await client.health(etcdAt(), options), { is: "present", value: 0x8e9e05c52164694dn });
  });
});

/** Repeats a change that etcd refuses for a moment after the previous one. */
async function changed<T>(change: () => Promise<T>): Promise<T> {
  let result: T | undefined;
  await until("etcd allows the change", async () => {
    try {
      result = await change();
      return true;
    } catch (thrown) {
      if (refusalOf(thrown) === "Unhealthy") return false;
      throw thrown;
    }
  });
  return result as T;
}
