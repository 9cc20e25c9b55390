import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import type { KeyPair } from "#certificates/pem.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { ETCD_VERSIONS, neverAborted, until } from "#kit/etcd/etcd.ts";
import type { PodMember } from "#kit/pods/pod-etcd.ts";
import {
  PEER_SECRET,
  planSecureEtcd,
  SERVER_SECRET,
  type SecureEtcd,
  secretOf,
  type TestAuthority,
  testAuthority,
} from "#kit/pods/pod-tls.ts";

const OPTIONS = { signal: neverAborted, deadlineMs: 2_000 };
const pool = new TransportPool(systemClock);
const client = new GrpcClient({ pool, clock: systemClock });
afterAll(() => pool.closeAll());

// Rotation of CAs in a running cluster: all members and clients must trust both CAs. Only then may any of them show a
// certificate of the new one. Trusting the new CA takes a restart. The tests of one version tell one story, in order.
describe.each(ETCD_VERSIONS)("rotation of the CAs of etcd %s", (version) => {
  let etcd: SecureEtcd;
  let peers: TestAuthority;
  let clients: TestAuthority;
  /** The clients' certificate and CA bundle. */
  let shown: KeyPair;
  let trusted: string;
  let writes = 0;
  beforeAll(async () => {
    etcd = await planSecureEtcd({ version, members: 3 });
    [peers, clients] = await Promise.all([testAuthority(), testAuthority()]);
    [shown, trusted] = [etcd.client, etcd.clientCA.pem];
    for (const member of etcd.members) member.start();
    await untilAllServe();
  });
  afterAll(() => etcd.pods.stop());

  function at(member: PodMember): Endpoint {
    const { certificate: cert, key } = shown;
    return { address: member.clientAddress, tls: { ca: trusted, cert, key, serverName: member.place.host } };
  }

  /** Waits until a write through each member succeeds, whether or not all members run. */
  async function untilAllServe(): Promise<void> {
    for (const member of etcd.members) {
      await until(`${member.name} writes`, async () => {
        return await client.put(at(member), "k", `${++writes}`, OPTIONS).then(
          () => true,
          () => false,
        );
      });
    }
  }

  /** Restarts one member after another with these bundles, while the other two serve. */
  async function roll(trust: { readonly peer: string; readonly client: string }): Promise<void> {
    for (const member of etcd.members) {
      const { tls } = member.peer.spec;
      await member.kill();
      const other = etcd.members.find((each) => each !== member)!;
      await until("the others serve", async () => (await client.probe(at(other), OPTIONS)).is === "present");
      member.become({
        tls: { ...tls, peer: { ...tls!.peer!, trust: trust.peer }, client: { ...tls!.client!, trust: trust.client } },
      });
      member.start();
      await untilAllServe();
    }
  }

  test("starts with a restart of every member to trust both CAs", async () => {
    await roll({ peer: etcd.peerCA.pem + peers.pem, client: etcd.clientCA.pem + clients.pem });
  });

  test("continues with certificates of the new CAs, without a restart", async () => {
    const pids = etcd.members.map(({ pid }) => pid);
    etcd.pods.secrets.set(PEER_SECRET, secretOf(await peers.issue()));
    etcd.pods.secrets.set(SERVER_SECRET, secretOf(await clients.issue()));
    for (const member of etcd.members) member.refresh();
    shown = await clients.issue({ names: [], commonName: "shop", usages: ["clientAuth"] });
    trusted = clients.pem;
    await untilAllServe();
    expect(etcd.members.map(({ pid }) => pid)).toEqual(pids);
  });

  test("ends with members that trust only the new CAs, and all members serve at every step", async () => {
    await roll({ peer: peers.pem, client: clients.pem });
    shown = etcd.client;
    const seen = await Promise.all(etcd.members.map((member) => client.probe(at(member), OPTIONS)));
    expect(seen.map(({ is }) => is)).toEqual(["unknown", "unknown", "unknown"]);
  });
});

describe.each(ETCD_VERSIONS)("etcd %s", (version) => {
  test("a member with a certificate that the others do not trust yet is cut off until it presents the old one", async () => {
    const etcd = await planSecureEtcd({ version, members: 3 });
    try {
      const next = await testAuthority();
      const [first, , third] = etcd.members;
      for (const member of etcd.members) member.start();
      const { certificate: cert, key } = etcd.client;
      const at = (member: PodMember): Endpoint => ({
        address: member.clientAddress,
        tls: { ca: etcd.clientCA.pem, cert, key, serverName: member.place.host },
      });
      const isLed = async (member: PodMember) => {
        const seen = await client.probe(at(member), OPTIONS);
        return seen.is === "present" && seen.value.leaderId !== undefined;
      };
      for (const member of etcd.members) await until(`${member.name} knows a leader`, () => isLed(member));
      const old = etcd.pods.secrets.get(PEER_SECRET)!;
      etcd.pods.secrets.set(PEER_SECRET, secretOf(await next.issue()));
      await third!.kill();
      const known = first!.log.length;
      third!.start();
      await until("the others refuse it", async () => first!.log.slice(known).includes("rejected connection"));
      expect(await isLed(third!)).toBe(false);
      expect(await isLed(first!)).toBe(true);
      etcd.pods.secrets.set(PEER_SECRET, old);
      third!.refresh();
      await until("it is back without a restart", () => isLed(third!));
    } finally {
      await etcd.pods.stop();
    }
  });
});
