import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import type { CallOptions } from "#etcd/client.ts";
import { hexOf } from "#etcd/types.ts";
import { ETCD_VERSIONS, type EtcdMember, neverAborted, type RunningEtcd, startEtcd, until } from "#kit/etcd/etcd.ts";
import { livenessProbe, readinessProbe } from "#peer/desired/probes.ts";

// A member under defragmentation holds every lock of its database until it is done, and no read ends.

const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };
/**
 * Small keys take most time for their size. With fewer, defragmentation ends before the member is asked; with more,
 * writing them takes longer.
 */
const KEYS = 200_000;
const KEYS_AT_ONCE = 10_000;
/** The member runs for a tenth of the time, as on a much slower machine: both in milliseconds. */
const RUNS_MS = 10;
const STANDS_MS = 90;
const WITHIN_MS = 1_000;

let etcd: RunningEtcd;
afterEach(() => etcd?.stop());

async function fill({ endpoint }: EtcdMember): Promise<void> {
  const { kv } = etcd.pool.servicesOf(endpoint);
  for (let first = 0; first < KEYS; first += KEYS_AT_ONCE) {
    const success = Array.from({ length: KEYS_AT_ONCE }, (_, n) => ({
      request: { case: "requestPut" as const, value: { key: Buffer.from(`k${first + n}`), value: Buffer.from("v") } },
    }));
    await kv.txn({ success }, { timeoutMs: 60_000 });
  }
}

/** Freezes and thaws the process in turn until the work is done. Its locks stay locked. */
async function slowed(member: EtcdMember, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const end = () => over.abort();
  work.then(end, end);
  while (!over.signal.aborted) {
    await member.freeze();
    await systemClock.sleep(STANDS_MS);
    member.thaw();
    await systemClock.sleep(RUNS_MS);
  }
  await work;
}

describe.each(ETCD_VERSIONS)("etcd %s while it defragments", (version) => {
  test("passes the liveness probe and still sends bytes to the leader, and fails the readiness probe", async () => {
    etcd = await startEtcd({
      version,
      members: 3,
      extraArgs: [`--max-txn-ops=${KEYS_AT_ONCE}`, "--max-request-bytes=16000000"],
    });
    const leader = await leaderOf();
    const member = etcd.members.find((each) => each !== leader)!;
    await fill(leader);
    await etcd.client.revision(member.endpoint, { ...OPTIONS, deadlineMs: 30_000 });
    const { memberId } = await etcd.client.status(member.endpoint, OPTIONS);

    const { maintenance } = etcd.pool.servicesOf(member.endpoint);
    let isOver = false;
    const defragmented = maintenance.defragment({}, { timeoutMs: 300_000 }).then(() => {
      isOver = true;
    });
    const slowly = slowed(member, defragmented);
    await until("it has begun", async () => member.log.includes("starting defragment"));
    const [alive, silent, ready, heard] = await Promise.all([
      member.httpStatus(livenessProbe.httpGet.path, WITHIN_MS),
      member.httpStatus("/livez", WITHIN_MS),
      member.httpStatus(readinessProbe.httpGet.path, WITHIN_MS),
      etcd.client.heardPeers(leader.metricsAddress, OPTIONS),
    ]);
    expect(isOver, "defragmentation ended before the member was asked").toBe(false);
    await slowly;
    expect({ alive, silent, ready }).toEqual({ alive: 200, silent: undefined, ready: undefined });
    expect(heard.is === "present" && [...heard.value.heard].map(hexOf)).toContain(hexOf(memberId));
    expect(await member.httpStatus("/livez")).toBe(200);
  });

  test("a frozen process does not pass the liveness probe", async () => {
    etcd = await startEtcd({ version, members: 1 });
    const [only] = etcd.members as [EtcdMember];
    expect(await only.httpStatus(livenessProbe.httpGet.path)).toBe(200);
    await only.freeze();
    expect(await only.httpStatus(livenessProbe.httpGet.path, WITHIN_MS)).toBeUndefined();
  });
});

async function leaderOf(): Promise<EtcdMember> {
  for (const member of etcd.members) {
    const { leaderId, memberId } = await etcd.client.status(member.endpoint, OPTIONS);
    if (leaderId === memberId) return member;
  }
  throw new Error("no member leads");
}
