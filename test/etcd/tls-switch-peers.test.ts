import { afterAll, afterEach, describe, expect, test } from "vitest";
import { peerUrl, type Scheme } from "#api/names.ts";
import { systemClock } from "#base/clock.ts";
import { present } from "#base/observed.ts";
import { joiningPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { hexOf, type Member, type MemberId } from "#etcd/types.ts";
import { ETCD_VERSIONS, neverAborted, until } from "#kit/etcd/etcd.ts";
import type { Drafted, PodMember } from "#kit/pods/pod-etcd.ts";
import { endpointOf, planSecureEtcd, type SecureEtcd } from "#kit/pods/pod-tls.ts";

// Members without peer TLS get a certificate and a CA each, switch to TLS and back, one at a time. Between its two
// steps, a member's URL in etcd's list does not match its listener. It dials the others, and they cannot dial it.

const OPTIONS = { signal: neverAborted, deadlineMs: 2_000 };
const pool = new TransportPool(systemClock);
const client = new GrpcClient({ pool, clock: systemClock });
afterAll(() => pool.closeAll());

let etcd: SecureEtcd;
let writes = 0;
afterEach(() => etcd.pods.stop());

async function succeeds(asked: Promise<unknown>): Promise<boolean> {
  return await asked.then(
    () => true,
    () => false,
  );
}

/** Waits until each of these members has written, and reads its own write. */
async function untilAllServe(members: readonly PodMember[] = etcd.members): Promise<void> {
  for (const member of members) {
    await until(`${member.name} writes`, () =>
      succeeds(client.put(endpointOf(etcd, member), "k", `${++writes}`, OPTIONS)),
    ).catch((thrown: Error) => {
      throw new Error(`${thrown.message}; its log ends with:\n${member.log.slice(-3_000)}`);
    });
    const found = await client.get(endpointOf(etcd, member), "k", OPTIONS);
    expect(Buffer.from(found!.value).toString()).toBe(`${writes}`);
  }
}

async function listed(at: PodMember): Promise<readonly Member[]> {
  return (await client.memberList(endpointOf(etcd, at), { ...OPTIONS, linearizable: true })).members;
}

async function idOf(member: PodMember): Promise<MemberId> {
  return (await client.status(endpointOf(etcd, member), OPTIONS)).memberId;
}

async function urlBecomes(member: PodMember, scheme: Scheme, at: PodMember = member): Promise<void> {
  const id = await idOf(member);
  const list = await client.updateMember(endpointOf(etcd, at), id, [peerUrl(member.place.host, scheme)], OPTIONS);
  expect(list.members.find((each) => each.id === id)?.peerUrls).toEqual([peerUrl(member.place.host, scheme)]);
}

/** Restarts the member with this listener. */
async function listens(member: PodMember, scheme: Scheme): Promise<void> {
  await member.kill();
  const { tls } = member.peer.spec;
  member.become({ tls: { ...tls, peer: { ...tls!.peer!, scheme } } });
  member.start();
}

async function leads(member: PodMember): Promise<void> {
  const id = await idOf(member);
  await until(`${member.name} leads`, async () => {
    const { leaderId } = await client.status(endpointOf(etcd, member), OPTIONS);
    if (leaderId === id) return true;
    const leader = await leaderAmong(etcd.members);
    if (leader !== undefined) await succeeds(client.moveLeader(endpointOf(etcd, leader), id, OPTIONS));
    return false;
  });
}

async function leaderAmong(members: readonly PodMember[]): Promise<PodMember | undefined> {
  for (const member of members) {
    const seen = await client.probe(endpointOf(etcd, member), OPTIONS);
    if (seen.is === "present" && seen.value.leaderId === seen.value.memberId) return member;
  }
  return undefined;
}

describe.each(ETCD_VERSIONS)("members of etcd %s", (version) => {
  async function started(): Promise<readonly [PodMember, PodMember, PodMember]> {
    etcd = await planSecureEtcd({ version, members: 3, born: "http" });
    for (const member of etcd.members) member.start();
    await untilAllServe();
    return etcd.members as unknown as readonly [PodMember, PodMember, PodMember];
  }

  test("switch to TLS and back one at a time, including the leader, and keep their IDs", async () => {
    const members = await started();
    const born = await listed(members[0]);
    expect(born.map(({ peerUrls }) => peerUrls[0]?.split(":")[0])).toEqual(["http", "http", "http"]);
    for (const scheme of ["https", "http"] as const) {
      for (const member of members) {
        await urlBecomes(member, scheme);
        await untilAllServe();
        await listens(member, scheme);
        await untilAllServe();
      }
      const now = await listed(members[1]);
      expect(now.map(({ id, name }) => [hexOf(id), name])).toEqual(born.map(({ id, name }) => [hexOf(id), name]));
      expect(now.every(({ peerUrls }) => peerUrls[0]?.startsWith(`${scheme}:`))).toBe(true);
    }
  });

  test("work with one member that has the new peer URL and the old listener, as follower and as leader", async () => {
    const members = await started();
    const [first] = members;
    await urlBecomes(first, "https");
    await listens(first, "http");
    await untilAllServe();
    await leads(first);
    await untilAllServe();
    await listens(first, "https");
    await untilAllServe();
  });

  test("work with one member that has the new listener and the old peer URL, as follower and as leader", async () => {
    const members = await started();
    const [first] = members;
    await listens(first, "https");
    await untilAllServe();
    await leads(first);
    await untilAllServe();
    await urlBecomes(first, "https", members[1]);
    await untilAllServe();
  });

  test("cannot connect if both have the new listener and the old peer URL, so one of them loses its leader", async () => {
    const members = await started();
    const [first, second, third] = members;
    await leads(third);
    await listens(first, "https");
    await listens(second, "https");
    await untilAllServe();
    await leads(first);
    await untilAllServe([first, third]);
    await until("the other member has no leader", async () => {
      const seen = await client.probe(endpointOf(etcd, second), OPTIONS);
      return seen.is === "present" && seen.value.leaderId === undefined;
    });
    const [{ memberId }] = [await client.status(endpointOf(etcd, second), OPTIONS)];
    const url = peerUrl(second.place.host, "https");
    await client.updateMember(endpointOf(etcd, first), memberId, [url], OPTIONS);
    await untilAllServe();
  });

  test.each(["http", "https"] as const)(
    "accept a new member with %s halfway through a switch, and it reaches all members",
    async (scheme) => {
      const members = await started();
      const [first, second, third] = members;
      await urlBecomes(third, "https");
      await listens(third, "https");
      await untilAllServe();
      const name = "my-etcd-3";
      const url = peerUrl(`${name}.my-etcd.foo.svc`, scheme);
      const at = endpointOf(etcd, first);
      await until("etcd has been healthy long enough to accept a learner", () =>
        succeeds(client.addLearner(at, [url], OPTIONS)),
      );
      const list = await client.memberList(at, { ...OPTIONS, linearizable: true });
      const member = list.members.find(({ peerUrls }) => peerUrls.includes(url))!;
      const { cluster } = etcd.cluster;
      const seen: ClusterSnapshot = {
        ...etcd.cluster,
        cluster: { ...cluster, status: { ...cluster.status, identity: etcd.identity } },
        members: present({ ...list, members: list.members.filter(({ id }) => id !== member.id) }),
      };
      const draft = joiningPeer(seen, etcd.identity, name, hexOf(member.id)) as Drafted;
      const { tls } = second.peer.spec;
      const bootstrap = draft.spec.bootstrap!;
      const own = { name, host: `${name}.my-etcd.foo.svc`, peerURLs: [url] };
      const others = bootstrap.static.initialCluster.filter((each) => each.name !== name);
      const fourth = etcd.pods.member({
        ...draft,
        spec: {
          ...draft.spec,
          tls: { ...tls, peer: { ...tls!.peer!, scheme } },
          bootstrap: { ...bootstrap, static: { initialCluster: [...others, own] } },
        },
      });
      fourth.start();
      await until("it can be promoted", () => succeeds(client.promote(at, member.id, OPTIONS)));
      await untilAllServe([...members, fourth]);
    },
  );

  test("accept a member that was down during the switch and still uses plaintext", async () => {
    const members = await started();
    const [first, second, third] = members;
    await third.kill();
    await untilAllServe([first, second]);
    for (const member of [first, second]) {
      await urlBecomes(member, "https");
      await listens(member, "https");
      await untilAllServe([first, second]);
    }
    third.start();
    await untilAllServe();
  });

  // https://github.com/etcd-io/etcd/issues/21694: releases before May 2026 then treated it as a voter, and it could not
  // be promoted.
  test("keep a learner as a learner when its peer URL is changed", async () => {
    const [first] = await started();
    const url = peerUrl("my-etcd-3.my-etcd.foo.svc", "http");
    const at = endpointOf(etcd, first);
    await until("a learner is added", () => succeeds(client.addLearner(at, [url], OPTIONS)));
    const { id } = (await listed(first)).find(({ peerUrls }) => peerUrls.includes(url))!;
    await client.updateMember(at, id, [url.replace("http:", "https:")], OPTIONS);
    expect((await listed(first)).find((each) => each.id === id)?.isLearner).toBe(true);
  });
});
