import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { hasCode } from "#base/error.ts";
import type { CallOptions } from "#etcd/client.ts";
import { ETCD_VERSIONS, neverAborted, planEtcd, type RunningEtcd, until, untilLed } from "#kit/etcd/etcd.ts";

const options: CallOptions = { signal: neverAborted, deadlineMs: 1_000 };
const unavailable = (thrown: unknown) => hasCode(thrown, "EtcdUnavailable");

// Our probes need this: start-up and liveness probes must not depend on other members, or members that wait for each
// other would be killed. Readiness must depend on them. The tests of one version tell one story, in order.
describe.each(ETCD_VERSIONS)("health of etcd %s over HTTP", (version) => {
  let etcd: RunningEtcd;
  beforeAll(async () => {
    etcd = await planEtcd({ version, members: 3 });
  });
  afterAll(() => etcd.stop());
  const start = (ordinal: number) =>
    etcd.members[ordinal]!.start({ initialCluster: etcd.initialCluster, state: "new" });

  /** Asserts that the member is alive, and not ready by any other endpoint. */
  async function assertAliveWithoutQuorum(): Promise<void> {
    const member = etcd.members[0]!;
    await until("it is alive", async () => (await member.httpStatus("/livez")) === 200);
    assert.equal(await member.httpStatus("/health"), 503);
    // Either the port is not served yet, or the answer 503 takes 7 s of waiting for a leader: longer than any probe of
    // ours.
    assert.equal(await member.httpStatus("/readyz", 2_000), undefined);
    assert.equal((await etcd.client.serves(member.endpoint, options)).is, "unknown");
  }

  test("the first of three members to start is alive and not ready, and its client port does not answer", async () => {
    await start(0);
    await assertAliveWithoutQuorum();
    assert.equal((await etcd.client.probe(etcd.members[0]!.endpoint, options)).is, "unknown");
  });

  test("repeated probes of the silent client port leave no connections behind", async () => {
    const { endpoint, plan } = etcd.members[0]!;
    const asked = () => etcd.client.probe(endpoint, { ...options, deadlineMs: 50 });
    for (let look = 0; look < 10; look++) assert.equal((await asked()).is, "unknown");
    await until("only the last connection is open", async () => (await connectionsTo(plan.clientPort)) <= 1);
  });

  test("two running members of three are ready", async () => {
    await start(1);
    await untilLed(etcd.client, etcd.members[0]!);
    await etcd.client.put(etcd.members[0]!.endpoint, "written", "by two", options);
    assert.equal(await etcd.members[0]!.httpStatus("/livez"), 200);
    assert.equal(await etcd.members[0]!.httpStatus("/readyz"), 200);
    assert.equal((await etcd.client.serves(etcd.members[0]!.endpoint, options)).is, "present");
    assert.equal(await etcd.members[0]!.httpStatus("/health"), 200);
  });

  test("a member that loses the quorum stays alive, is not ready, and its client port answers with the cause", async () => {
    await etcd.members[1]!.kill();
    await until("the loss is noticed", async () => {
      const seen = await etcd.client.probe(etcd.members[0]!.endpoint, options);
      return seen.is === "present" && seen.value.leaderId === undefined;
    });
    await assertAliveWithoutQuorum();
    // "etcdserver: no leader" is an error of the status, and no alarm.
    assert.deepEqual((await etcd.client.status(etcd.members[0]!.endpoint, options)).alarms, []);
  });

  test("a member without quorum serves serializable reads and refuses linearizable ones", async () => {
    const { endpoint } = etcd.members[0]!;
    assert.equal((await etcd.client.get(endpoint, "written", { ...options, serializable: true }))?.version, 1);
    await assert.rejects(etcd.client.get(endpoint, "written", options), unavailable);
    const known = await etcd.client.memberList(endpoint, { ...options, linearizable: false });
    assert.equal(known.members.length, 3);
    await assert.rejects(etcd.client.memberList(endpoint, { ...options, linearizable: true }), unavailable);
  });

  test("a member that restarts without a quorum is alive, and its client port does not answer", async () => {
    await etcd.members[0]!.kill();
    await start(0);
    await assertAliveWithoutQuorum();
    assert.equal((await etcd.client.probe(etcd.members[0]!.endpoint, options)).is, "unknown");
    const list = etcd.client.memberList(etcd.members[0]!.endpoint, { ...options, linearizable: false });
    await assert.rejects(list, unavailable);
  });
});

/**
 * How many connections to this port the processes of this machine hold. Connections that only the kernel still closes
 * have no inode.
 */
async function connectionsTo(port: number): Promise<number> {
  const lines = (await readFile("/proc/net/tcp", "utf8")).trim().split("\n").slice(1);
  return lines.filter((line) => {
    const [, , remote = "", state, , , , , , inode] = line.trim().split(/\s+/);
    return Number.parseInt(remote.split(":")[1] ?? "", 16) === port && state !== "0A" && inode !== "0";
  }).length;
}
