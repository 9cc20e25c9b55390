import { CLIENT_PORT } from "#api/names.ts";
import { systemClock } from "#base/clock.ts";
import { parsedIn } from "#certificates/pem.ts";
import type { CallOptions, EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { type EtcdVersionText, neverAborted, until } from "#kit/etcd/etcd.ts";
import { QuickIssuer } from "#kit/etcd/quick-certificates.ts";
import { endpointOf, planSecureEtcd, testAuthority } from "#kit/pods/pod-tls.ts";
import type { Disk } from "#kit/world/disk.ts";
import type { Pair, Speech, Speeches } from "#kit/world/tls.ts";
import { quietWorld } from "./likeness.ts";

/** What is wrong with a certificate that the client presents, or with its trust. */
export type Flaw =
  | "none"
  | "of another authority"
  | "expired"
  | "trusts another authority"
  | "calls it by another name";

/** One member over TLS that requires client certificates, simulated or real. */
export interface SecureSide {
  readonly client: EtcdClient;
  /** The member's endpoint for a client with this common name; "" for a certificate without common name. */
  as(commonName: string, flaw?: Flaw): Promise<Endpoint>;
  /** The member's endpoint without TLS. */
  plain(): Endpoint;
  /** Kills its process, and starts it again with its data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const HOUR_MS = 3_600_000;
const USAGES = ["clientAuth"] as const;

export async function realSecure(version: EtcdVersionText): Promise<SecureSide> {
  const etcd = await planSecureEtcd({ version, members: 1 });
  const other = await testAuthority();
  const pool = new TransportPool(systemClock);
  const client = new GrpcClient({ pool, clock: systemClock });
  const [member] = etcd.members;
  if (member === undefined) throw new Error("the side has no member");
  const as: SecureSide["as"] = async (commonName, flaw = "none") => {
    const issuer = flaw === "of another authority" ? other : etcd.clientCA;
    const endsInMs = flaw === "expired" ? -60_000 : HOUR_MS;
    const wish = commonName === "" ? { names: ["x.example"] } : { names: [], commonName };
    const endpoint = endpointOf(etcd, member, await issuer.issue({ ...wish, usages: USAGES, endsInMs }));
    const { tls } = endpoint;
    if (tls === undefined) throw new Error("the endpoint has no TLS");
    if (flaw === "trusts another authority") return { ...endpoint, tls: { ...tls, ca: other.pem } };
    if (flaw === "calls it by another name") return { ...endpoint, tls: { ...tls, serverName: "x.example" } };
    return endpoint;
  };
  const probe = await as("probe");
  const up = () =>
    until("the member knows a leader", async () => {
      const seen = await client.probe(probe, { signal: neverAborted, deadlineMs: 1_000 });
      return seen.is === "present" && seen.value.leaderId !== undefined;
    });
  member.start();
  await up();
  return {
    client,
    as,
    plain: () => ({ address: member.clientAddress }),
    restart: async () => {
      await member.kill();
      member.start();
      await up();
    },
    stop: async () => {
      pool.closeAll();
      await etcd.pods.stop();
    },
  };
}

const HOST = "m0.story";
const ADDRESS = "10.0.0.1";
const HTTPS: ReadonlySet<string> = new Set(["https"]);

export async function simulatedSecure(version: EtcdVersionText): Promise<SecureSide> {
  const { world, etcd: client } = await quietWorld();
  const issuer = new QuickIssuer();
  const { nowMs } = world.time;
  const life = { fromMs: nowMs - 2 * HOUR_MS, untilMs: nowMs + 24 * HOUR_MS };
  const [own, other] = [await issuer.newAuthority("own", life), await issuer.newAuthority("other", life)];
  const shown = await issuer.newLeaf(own, { names: [HOST], usages: ["serverAuth", "clientAuth"], ...life });
  const pair: Pair = { chain: parsedIn(shown.certificate), names: [HOST], ...life };
  const speech: Speech = {
    schemes: HTTPS,
    pair: () => pair,
    trust: parsedIn(own.certificate),
    asks: true,
    host: HOST,
  };
  const speeches: Speeches = { peer: speech, client: speech };
  const disk: Disk = { id: "m0", data: undefined, heldBy: undefined };
  const settle = () => {
    world.calls.breathe();
    for (const act of ["elect", "replicate", "publish"] as const)
      for (const process of world.etcd.processes.values()) world.etcd[act](process);
  };
  let starts = 0;
  const start = () => {
    const peerUrl = `https://${HOST}:2380`;
    const flags = { version, name: "m0", peerUrl, initialCluster: new Map([["m0", peerUrl]]), isNew: true, token: "s" };
    world.etcd.start({ uid: `m0 ${++starts}`, address: ADDRESS, clusterUid: undefined, speeches }, disk, flags);
    settle();
  };
  start();
  return {
    client,
    as: async (commonName, flaw = "none") => {
      world.calls.breathe(); // so that no call has to wait
      const name = commonName === "" ? { names: ["x.example"] } : { names: [], commonName };
      const untilMs = world.time.nowMs + (flaw === "expired" ? -60_000 : HOUR_MS);
      const wish = { ...name, usages: [...USAGES], fromMs: nowMs - HOUR_MS, untilMs };
      const leaf = await issuer.newLeaf(flaw === "of another authority" ? other : own, wish);
      const tls = {
        ca: (flaw === "trusts another authority" ? other : own).certificate,
        cert: leaf.certificate,
        key: leaf.key,
        serverName: flaw === "calls it by another name" ? "x.example" : HOST,
      };
      return { address: `${ADDRESS}:${CLIENT_PORT}`, tls };
    },
    plain: () => ({ address: `${ADDRESS}:${CLIENT_PORT}` }),
    restart: () => {
      world.etcd.stop(disk.heldBy ?? "");
      start();
      return Promise.resolve();
    },
    stop: () => Promise.resolve(),
  };
}

/** For the calls of one story. */
export const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };
