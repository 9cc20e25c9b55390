import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import { hasCode } from "#base/error.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import type { HeardPeers } from "#etcd/heard-peers.ts";
import { TransportPool } from "#etcd/transport.ts";
import { type MemberId, memberId } from "#etcd/types.ts";
import { ETCD_VERSIONS, type EtcdMember, neverAborted, type RunningEtcd, startEtcd, until } from "#kit/etcd/etcd.ts";

const options = { signal: neverAborted, deadlineMs: 5_000 };

/** From the end of a process to the first answer without it: twice LISTEN_MS, and time for a busy machine. */
const SILENT_WITHIN_MS = 6_000;

describe.each(ETCD_VERSIONS)("peers from which a member receives bytes (etcd %s)", (version) => {
  let etcd: RunningEtcd;
  beforeAll(async () => {
    etcd = await startEtcd({ version, members: 3 });
  });
  afterAll(() => etcd.stop());
  const idOf = async (member: EtcdMember) => (await etcd.client.status(member.endpoint, options)).memberId;
  const listen = async (member: EtcdMember): Promise<HeardPeers> => {
    const seen = await etcd.client.heardPeers(member.metricsAddress, options);
    if (seen.is !== "present") throw new Error(`${member.plan.name} does not answer: ${JSON.stringify(seen)}`);
    return seen.value;
  };
  /** The leader among the members that answer, and the others. */
  async function roles(running = etcd.members): Promise<{ leader: EtcdMember; followers: EtcdMember[] }> {
    let leader: EtcdMember | undefined;
    await until("one leads", async () => {
      for (const member of running) {
        const { memberId, leaderId } = await etcd.client.status(member.endpoint, options);
        if (memberId === leaderId) leader = member;
      }
      return leader !== undefined;
    });
    return { leader: leader as EtcdMember, followers: running.filter((member) => member !== leader) };
  }
  async function silentAfterMs(id: MemberId, running: readonly EtcdMember[]): Promise<number> {
    const startedAtMs = systemClock.monotonicMs();
    await until("the leader does not hear it", async () => {
      const told = await Promise.all(running.map(listen));
      return told.some(({ isLeader }) => isLeader) && told.every(({ heard }) => !heard.has(id));
    });
    return Math.round(systemClock.monotonicMs() - startedAtMs);
  }

  test("the leader receives from all followers, and followers from the leader", async () => {
    const { leader, followers } = await roles();
    const id = await idOf(leader);
    const others = await Promise.all(followers.map(idOf));
    const { by, isLeader, heard } = await listen(leader);
    assert.deepEqual({ by, isLeader, heard }, { by: id, isLeader: true, heard: new Set(others) });
    for (const follower of followers) {
      const told = await listen(follower);
      assert.equal(told.isLeader, false);
      assert.ok(told.heard.has(id));
    }
  });

  test("the answer of another member at the address is rejected", async () => {
    const [mine, others] = await Promise.all(etcd.members.slice(0, 2).map(idOf));
    const ask = (expectedMemberId: MemberId | undefined) =>
      etcd.client.heardPeers(etcd.members[0]!.metricsAddress, { ...options, expectedMemberId });
    assert.equal((await ask(mine)).is, "present");
    const seen = await ask(others);
    assert.ok(seen.is === "unknown" && seen.why.includes(`expected ${others?.toString(16)}`));
  });

  test("the leader receives nothing from a frozen follower although its connections are open", async () => {
    const { leader, followers } = await roles();
    const [frozen, other] = followers as [EtcdMember, EtcdMember];
    const id = await idOf(frozen);
    await frozen.freeze();
    try {
      assert.equal(
        (await etcd.client.heardPeers(frozen.metricsAddress, { ...options, deadlineMs: 300 })).is,
        "unknown",
      );
      const silentMs = await silentAfterMs(id, [leader, other]);
      assert.ok(silentMs < SILENT_WITHIN_MS, `${silentMs} ms`);
      assert.match(
        await metricsOf(leader),
        new RegExp(`^etcd_network_active_peers\\{Local="\\w+",Remote="${id.toString(16)}"\\} 1$`, "m"),
      );
    } finally {
      frozen.thaw();
    }
    await until("it is heard again", async () => (await listen(leader)).heard.has(id));
  });

  test("followers receive nothing from a frozen leader, and the next leader receives from the other followers", async () => {
    const { leader, followers } = await roles();
    const id = await idOf(leader);
    await leader.freeze();
    try {
      assert.ok((await silentAfterMs(id, followers)) < SILENT_WITHIN_MS);
      const now = await roles(followers);
      const rest = await idOf(now.followers[0]!);
      assert.deepEqual((await listen(now.leader)).heard, new Set([rest]));
    } finally {
      leader.thaw();
    }
  });

  test("the leader receives nothing from a stopped member, although its time series remains", async () => {
    const { leader, followers } = await roles();
    const [gone, other] = followers as [EtcdMember, EtcdMember];
    const id = await idOf(gone);
    await gone.kill();
    const silentMs = await silentAfterMs(id, [leader, other]);
    assert.ok(silentMs < SILENT_WITHIN_MS, `${silentMs} ms`);
    assert.match(await metricsOf(leader), new RegExp(`received_bytes_total\\{From="${id.toString(16)}"\\}`));
    const nobody = await etcd.client.heardPeers(gone.metricsAddress, options);
    assert.ok(nobody.is === "unknown" && nobody.why.startsWith(`GET /metrics at ${gone.metricsAddress}: `));
  });
});

async function metricsOf(member: EtcdMember): Promise<string> {
  return await (await fetch(`http://${member.metricsAddress}/metrics`)).text();
}

describe("answers of a server that is not etcd", () => {
  let server: Server;
  /** The answer to each request; the last one is repeated. */
  let answers: readonly (readonly [status: number, metrics: string])[] = [];
  let looks = 0;
  beforeAll(async () => {
    server = createServer((_request, response) => {
      const [status, metrics] = answers[Math.min(looks++, answers.length - 1)] ?? [404, ""];
      response.writeHead(status).end(metrics);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  });
  afterAll(() => server.close());
  const client = new GrpcClient({ pool: new TransportPool(systemClock), clock: systemClock });
  const address = () => `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const heard = (...told: typeof answers) => {
    [answers, looks] = [told, 0];
    return client.heardPeers(address(), options);
  };
  const me = 'etcd_server_id{server_id="a"} 1';
  const leads = "etcd_server_is_leader 1";
  const from = (who: string, bytes: number) => `etcd_network_peer_received_bytes_total{From="${who}"} ${bytes}`;

  test.each([
    ["does not report its ID", 200, `${from("b", 1)}\n`],
    ["reports more text than etcd ever returns", 200, `${me}\n${from("b", 1)}\n${"x".repeat(5 * 1024 ** 2)}`],
    ["returns status 500", 500, `${me}\n${from("b", 1)}\n`],
  ])("are rejected when it %s", async (_what, status, told) => {
    const seen = await heard([status, told]);
    assert.ok(seen.is === "unknown");
    if (status !== 200) assert.match(seen.why, /status 500: etcd_server_id/);
  });

  test("are rejected when its member ID changes between the two requests", async () => {
    const seen = await heard([200, me], [200, me.replace('"a"', '"c"')]);
    assert.ok(seen.is === "unknown" && seen.why.endsWith("answered by member c, expected a"));
  });

  test("identify the sending peers by counters that grew or were reset", async () => {
    const before = [me, leads, from("b", 500), from("c", 500), from("0", 1), from("e", 500)].join("\n");
    const filler = "# filler\n".repeat(50_000);
    const after = `${from("b", 500)}\n${from("c", 501)}\n${filler}${me}\n${from("0", 2)}\n${from("d", 7)}\n${from("e", 9)}`;
    assert.deepEqual(await heard([200, before], [200, after]), {
      is: "present",
      value: { by: memberId(0xan), isLeader: false, heard: new Set([0xcn, 0xdn, 0xen].map(memberId)) },
    });
  });

  test("are no longer awaited when the caller's abort signal is set", async () => {
    answers = [[200, me]];
    for (const signal of [AbortSignal.abort(), AbortSignal.timeout(300)]) {
      const cancelled = client.heardPeers(address(), { signal });
      await assert.rejects(cancelled, (thrown) => hasCode(thrown, "Cancelled"));
    }
  });

  test("give no result if the deadline leaves too little time between two requests", async () => {
    answers = [[200, me]];
    assert.equal((await client.heardPeers(address(), { signal: neverAborted, deadlineMs: 500 })).is, "unknown");
  });
});
