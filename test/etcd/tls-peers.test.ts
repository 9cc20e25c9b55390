import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import { present } from "#base/observed.ts";
import { wantedNames } from "#certificates/names.ts";
import type { KeyPair } from "#certificates/pem.ts";
import { joiningPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { hexOf } from "#etcd/types.ts";
import { ETCD_VERSIONS, neverAborted, until } from "#kit/etcd/etcd.ts";
import type { Drafted, PodMember } from "#kit/pods/pod-etcd.ts";
import {
  ask,
  CLUSTER,
  endpointOf,
  PEER_SECRET,
  planSecureEtcd,
  type SecureEtcd,
  secretOf,
  testAuthority,
} from "#kit/pods/pod-tls.ts";

const OPTIONS = { signal: neverAborted, deadlineMs: 2_000 };
const pool = new TransportPool(systemClock);
const client = new GrpcClient({ pool, clock: systemClock });
afterAll(() => pool.closeAll());

async function isLed(etcd: SecureEtcd, member: PodMember): Promise<boolean> {
  const seen = await client.probe(endpointOf(etcd, member), OPTIONS);
  return seen.is === "present" && seen.value.leaderId !== undefined;
}

async function untilLed(etcd: SecureEtcd, ...members: readonly PodMember[]): Promise<void> {
  for (const member of members) {
    await until(`${member.name} knows a leader`, () => isLed(etcd, member)).catch((thrown: Error) => {
      throw new Error(`${thrown.message}; its log ends with:\n${member.log.slice(-3_000)}`);
    });
  }
}

/** A member's names without addresses. Our own address, 127.0.0.1, would prove nothing about pods. */
const NO_ADDRESS = wantedNames("foo", CLUSTER).filter((name) => !name.includes("127."));

/** Members that have published their client URLs, so have joined. */
async function joined(etcd: SecureEtcd): Promise<readonly string[]> {
  const list = await client.memberList(endpointOf(etcd, etcd.members[0]!), { ...OPTIONS, linearizable: true });
  return list.members
    .filter(({ clientUrls }) => clientUrls.length > 0)
    .map(({ name }) => name)
    .sort();
}

async function succeeds(asked: Promise<unknown>): Promise<boolean> {
  return await asked.then(
    () => true,
    () => false,
  );
}

/** Whether the member accepts this certificate at its peer port. */
async function takes(etcd: SecureEtcd, member: PodMember, pair: KeyPair | undefined): Promise<boolean> {
  const question = { at: member.peerAddress, path: "/members", ca: etcd.peerCA.pem, serverName: member.place.host };
  try {
    return (await ask({ ...question, pair })).status === 200;
  } catch {
    return false;
  }
}

describe.each(ETCD_VERSIONS)("members of etcd %s with certificates", (version) => {
  let etcd: SecureEtcd;
  let own: KeyPair;
  beforeAll(async () => {
    etcd = await planSecureEtcd({ version, members: 3 });
    own = await etcd.peerCA.issue();
  });
  afterAll(() => etcd.pods.stop());

  /**
   * Starts the third member with this certificate and CA bundle, and asserts that it does not join the two that run.
   */
  async function assertKeptOut(pair: KeyPair, trust: string, because: RegExp): Promise<void> {
    const [first, second, third] = etcd.members;
    const known = [first!.log.length, second!.log.length];
    const told = () => first!.log.slice(known[0]) + second!.log.slice(known[1]);
    etcd.pods.secrets.set(PEER_SECRET, secretOf(pair));
    const { tls } = third!.peer.spec;
    third!.become({ tls: { ...tls, peer: { secretName: PEER_SECRET, trust } } });
    third!.start();
    await until("the others log the cause", async () => because.test(told()));
    expect(await isLed(etcd, third!)).toBe(false);
    expect(await joined(etcd)).toEqual(["my-etcd-0", "my-etcd-1"]);
    await third!.kill();
    third!.become({ tls });
    etcd.pods.secrets.set(PEER_SECRET, secretOf(own));
  }

  test("two of three members connect with the pod's flags and files, at addresses without DNS names", async () => {
    const [first, second] = etcd.members;
    first!.start();
    second!.start();
    await untilLed(etcd, first!, second!);
    expect(first!.template().spec.containers[0]?.env).toContainEqual({
      name: "ETCD_LISTEN_PEER_URLS",
      value: "https://0.0.0.0:2380",
    });
  });

  test("members have the IDs that the operator computed", async () => {
    const list = await client.memberList(endpointOf(etcd, etcd.members[0]!), { ...OPTIONS, linearizable: true });
    expect(hexOf(list.clusterId)).toBe(etcd.identity.clusterID);
    const ids = new Map(etcd.identity.initialMembers.map(({ name, id }) => [name, id]));
    for (const { name, id, peerUrls } of list.members) {
      const urls = [`https://${name === "" ? "my-etcd-2" : name}.my-etcd.foo.svc:2380`];
      expect({ id: hexOf(id), peerUrls }).toEqual({ id: ids.get(name === "" ? "my-etcd-2" : name), peerUrls: urls });
    }
  });

  test("a member of another cluster with the same names and another CA cannot join", async () => {
    const other = await testAuthority();
    await assertKeptOut(
      await other.issue(),
      other.pem,
      /certificate signed by unknown authority|unknown certificate authority|bad certificate/,
    );
  });

  test("a member with a certificate of another CA cannot join, even if it trusts the cluster's CA", async () => {
    const other = await testAuthority();
    await assertKeptOut(await other.issue(), etcd.peerCA.pem, /rejected connection/);
  });

  test("a member with a certificate of the cluster's CA for other names cannot join", async () => {
    const pair = await etcd.peerCA.issue({ names: wantedNames("bar", CLUSTER) });
    await assertKeptOut(pair, etcd.peerCA.pem, /client certificate authentication failed|is valid for/);
  });

  test("a member with an expired certificate cannot join", async () => {
    const pair = await etcd.peerCA.issue({ endsInMs: -60_000 });
    await assertKeptOut(pair, etcd.peerCA.pem, /certificate has expired|expired certificate/);
  });

  test("the third member joins with its own certificate, and all three participate", async () => {
    const [first, , third] = etcd.members;
    third!.start();
    await untilLed(etcd, third!);
    await until("it has published its client URLs", async () => (await joined(etcd)).length === 3);
    await client.put(endpointOf(etcd, third!), "k", "by the third", OPTIONS);
    expect((await client.get(endpointOf(etcd, first!), "k", OPTIONS))?.version).toBe(1);
  });

  test("a fourth member that is added later joins and is promoted", async () => {
    const [first] = etcd.members;
    const at = endpointOf(etcd, first!);
    const name = "my-etcd-3";
    const url = `https://${name}.my-etcd.foo.svc:2380`;
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
      peers: etcd.members.map(({ peer }) => peer),
    };
    const draft = joiningPeer(seen, etcd.identity, name, hexOf(member.id)) as Drafted;
    const fourth = etcd.pods.member({ ...draft, spec: { ...draft.spec, tls: first!.peer.spec.tls } });
    fourth.start();
    await untilLed(etcd, fourth);
    await until("it can be promoted", () => succeeds(client.promote(at, member.id, OPTIONS)));
    // The leader knows of the promotion a moment before the member itself.
    await until("it takes a write", () =>
      succeeds(client.put(endpointOf(etcd, fourth), "k", "by the fourth", OPTIONS)),
    );
  });

  test("a fenced member starts again with its data", async () => {
    const third = etcd.members[2]!;
    await third.kill();
    third.become({ bootstrap: undefined });
    third.start();
    await untilLed(etcd, third);
    expect((await client.get(endpointOf(etcd, third), "k", OPTIONS))?.version).toBeGreaterThan(0);
  });

  test("the peer port accepts only certificates with a member's names and the peer CA", async () => {
    const [first] = etcd.members;
    expect(await takes(etcd, first!, own)).toBe(true);
    expect(await takes(etcd, first!, undefined)).toBe(false);
    expect(await takes(etcd, first!, etcd.client)).toBe(false);
    expect(await takes(etcd, first!, await etcd.clientCA.issue())).toBe(false);
    expect(await takes(etcd, first!, await etcd.peerCA.issue({ names: wantedNames("bar", CLUSTER) }))).toBe(false);
    expect(await takes(etcd, first!, await etcd.peerCA.issue({ names: ["my-etcd-1.my-etcd.foo.svc"] }))).toBe(false);
  });
});

describe.each(ETCD_VERSIONS)("a single etcd %s", (version) => {
  /**
   * Whether it accepts a member's own certificate from an address that DNS does not know, and a stranger's of the same
   * CA.
   */
  async function letIn(changed: Record<string, undefined>): Promise<{ own: boolean; stranger: boolean }> {
    const etcd = await planSecureEtcd({ version, members: 1 });
    try {
      const [member] = etcd.members;
      Object.assign(member!.changed, changed);
      member!.start();
      await untilLed(etcd, member!);
      const stranger = await etcd.peerCA.issue({ names: wantedNames("bar", CLUSTER) });
      return {
        own: await takes(etcd, member!, await etcd.peerCA.issue({ names: NO_ADDRESS })),
        stranger: await takes(etcd, member!, stranger),
      };
    } finally {
      await etcd.pods.stop();
    }
  }
  const lookup = version.startsWith("3.5.")
    ? "ETCD_EXPERIMENTAL_PEER_SKIP_CLIENT_SAN_VERIFICATION"
    : "ETCD_PEER_SKIP_CLIENT_SAN_VERIFICATION";

  test("accepts only certificates of its own members", async () => {
    expect(await letIn({})).toEqual({ own: true, stranger: false });
  });

  test("would refuse its own members without the flag that skips the address lookup", async () => {
    expect(await letIn({ [lookup]: undefined })).toEqual({ own: false, stranger: false });
  });

  test("would accept any certificate of the CA without the flag for allowed host names", async () => {
    expect(await letIn({ ETCD_PEER_CERT_ALLOWED_HOSTNAME: undefined })).toEqual({ own: true, stranger: true });
  });
});
