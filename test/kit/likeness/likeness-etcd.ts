import { rmSync } from "node:fs";
import { CLIENT_PORT, METRICS_PORT } from "#api/names.ts";
import type { CallOptions, EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { AlarmRequest_AlarmAction as AlarmAction, AlarmType as AlarmNumber } from "#etcd/proto/etcdserverpb/rpc_pb.js";
import { type ClusterId, type EndpointStatus, hexOf } from "#etcd/types.ts";
import {
  type EtcdMember,
  type EtcdVersionText,
  neverAborted,
  planEtcd,
  type RunningEtcd,
  until,
} from "#kit/etcd/etcd.ts";
import type { Disk } from "#kit/world/disk.ts";
import { PLAIN } from "#kit/world/tls.ts";
import { type QuietWorld, quietWorld } from "./likeness.ts";

/**
 * How a member is started:
 * - `first`: to form the cluster.
 * - `joining`: with the current member list, as an added member.
 * - `stale`: as a member that was added to the founders.
 * - `fenced`: only with its data.
 */
export type Flags = "first" | "joining" | "stale" | "fenced";

/** Real or simulated processes. Each method waits until its effect is visible. */
export interface EtcdSide {
  readonly client: EtcdClient;
  endpoint(name: string): Endpoint;
  /** Host and port of its metrics URL. */
  metricsAddress(name: string): string;
  peerUrl(name: string): string;
  /** Prepares a further member, which is in no list and does not run. */
  spare(name: string): Promise<void>;
  /**
   * Starts a member.
   * @param version if it differs from the cluster's
   * @returns "runs" when it knows a leader, otherwise why it ended
   */
  start(name: string, flags: Flags, version?: EtcdVersionText): Promise<string>;
  /** Kills its process; the other members notice. */
  kill(name: string): Promise<void>;
  /** Deletes the data of a member that does not run. */
  empty(name: string): void;
  /** Waits until its process has ended by itself. */
  ended(name: string): Promise<void>;
  /** Waits until all running members follow one leader. */
  settled(): Promise<void>;
  /** Waits before the next try. */
  wait(): Promise<void>;
  raiseCorrupt(name: string): Promise<void>;
  stop(): Promise<void>;
}

const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };

/** The reasons in etcd's log why a process ended. */
const ENDINGS = [
  "has already been bootstrapped",
  "couldn't find local name",
  "permanently removed",
  "member count is unequal",
  "is out of range [lastIndex", // a panic: the leader relies on entries that the member has lost
  "incompatible with current running cluster",
  "invalid downgrade; server version is lower than determined cluster version",
  "is not supported",
];

/** A formed cluster of real processes. */
export async function realEtcd(version: EtcdVersionText, members: 1 | 3): Promise<EtcdSide> {
  const etcd = await planEtcd({ version, members });
  const side = new RealEtcd(etcd);
  try {
    await Promise.all(etcd.members.map(({ plan }) => side.start(plan.name, "first")));
    await side.settled();
    return side;
  } catch (thrown) {
    await etcd.stop();
    throw thrown;
  }
}

class RealEtcd implements EtcdSide {
  readonly client: EtcdClient;
  readonly #etcd: RunningEtcd;
  readonly #members = new Map<string, EtcdMember>();
  readonly #running = new Set<string>();

  constructor(etcd: RunningEtcd) {
    this.#etcd = etcd;
    this.client = etcd.client;
    for (const member of etcd.members) this.#members.set(member.plan.name, member);
  }

  endpoint(name: string): Endpoint {
    return this.#member(name).endpoint;
  }

  metricsAddress(name: string): string {
    return this.#member(name).metricsAddress;
  }

  peerUrl(name: string): string {
    return this.#member(name).peerUrl;
  }

  async spare(name: string): Promise<void> {
    this.#members.set(name, await this.#etcd.spare(name));
  }

  async start(name: string, flags: Flags, version?: EtcdVersionText): Promise<string> {
    const member = this.#member(name);
    member.version = version ?? this.#etcd.version;
    const state = flags === "first" ? "new" : "existing";
    await member.start({ initialCluster: await this.#initialCluster(name, flags), state });
    this.#running.add(name);
    let hasEnded = false;
    const end = member.exited().then(() => {
      hasEnded = true;
      this.#running.delete(name);
    });
    void end;
    await until(
      `${name} runs or has ended`,
      async () => hasEnded || (await this.#probe(member))?.leaderId !== undefined,
    );
    if (!hasEnded) return "runs";
    // The last lines of a process may arrive after its end.
    for (let tries = 0; tries < 20 && !ENDINGS.some((ending) => member.log.includes(ending)); tries++)
      await this.wait();
    return ENDINGS.find((ending) => member.log.includes(ending)) ?? `ended: ${member.log.slice(-1_000)}`;
  }

  async kill(name: string): Promise<void> {
    const { memberId } = await this.client.status(this.endpoint(name), OPTIONS);
    await this.#member(name).kill();
    this.#running.delete(name);
    // A gauge, 1 while the answering member is connected to the one named in it.
    const isActive = new RegExp(`^etcd_network_active_peers\\{.*Remote="${hexOf(memberId)}".*\\} 1$`, "m");
    await until(`the others notice that ${name} is gone`, async () => {
      const told = [...this.#running].map(async (other) => {
        const answer = await fetch(`http://${this.metricsAddress(other)}/metrics`);
        return await answer.text();
      });
      return !(await Promise.all(told)).some((metrics) => isActive.test(metrics));
    });
  }

  empty(name: string): void {
    if (this.#running.has(name)) throw new Error(`${name} runs`);
    rmSync(this.#member(name).plan.dir, { recursive: true });
  }

  async ended(name: string): Promise<void> {
    await this.#member(name).exited();
    this.#running.delete(name);
  }

  async settled(): Promise<void> {
    await until("all members follow one leader", async () => {
      const seen = await Promise.all([...this.#running].map((name) => this.#probe(this.#member(name))));
      const leader = seen.find((status) => status?.memberId === seen[0]?.leaderId)?.memberId;
      return leader !== undefined && seen.every((status) => status?.leaderId === leader);
    });
  }

  async wait(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 200));
  }

  async raiseCorrupt(name: string): Promise<void> {
    const endpoint = this.endpoint(name);
    const { memberId: memberID } = await this.client.status(endpoint, OPTIONS);
    const { maintenance } = this.#etcd.pool.servicesOf(endpoint);
    await maintenance.alarm({ action: AlarmAction.ACTIVATE, memberID, alarm: AlarmNumber.CORRUPT });
  }

  stop(): Promise<void> {
    return this.#etcd.stop();
  }

  #member(name: string): EtcdMember {
    const member = this.#members.get(name);
    if (member === undefined) throw new Error(`member ${name} does not exist`);
    return member;
  }

  async #initialCluster(name: string, flags: Flags): Promise<string> {
    if (flags === "first") return this.#etcd.initialCluster;
    if (flags === "stale") return `${this.#etcd.initialCluster},${name}=${this.peerUrl(name)}`;
    if (flags === "fenced") return "fenced=http://fenced.invalid:2380";
    const [other = name] = this.#running;
    const { members } = await this.client.memberList(this.endpoint(other), {
      signal: neverAborted,
      linearizable: true,
    });
    const own = this.peerUrl(name);
    return members
      .map((member) => `${member.peerUrls[0] === own ? name : member.name}=${member.peerUrls[0]}`)
      .join(",");
  }

  async #probe({ endpoint }: EtcdMember): Promise<EndpointStatus | undefined> {
    const seen = await this.client.probe(endpoint, { signal: neverAborted, deadlineMs: 1_000 });
    return seen.is === "present" ? seen.value : undefined;
  }
}

/** A formed cluster of the simulation. */
export async function simulatedEtcd(version: EtcdVersionText, members: 1 | 3): Promise<EtcdSide> {
  const side = new SimulatedEtcd(await quietWorld(), version, members);
  for (const name of side.founders) await side.start(name, "first");
  await side.settled();
  return side;
}

interface SimulatedMember {
  readonly address: string;
  readonly disk: Disk;
}

class SimulatedEtcd implements EtcdSide {
  readonly client: EtcdClient;
  readonly founders: readonly string[];
  readonly #world: QuietWorld["world"];
  readonly #members = new Map<string, SimulatedMember>();
  readonly #version: EtcdVersionText;
  #starts = 0;

  constructor({ world, etcd }: QuietWorld, version: EtcdVersionText, members: number) {
    this.#version = version;
    this.#world = world;
    this.client = etcd;
    this.founders = Array.from({ length: members }, (_, ordinal) => `m${ordinal}`);
    for (const name of this.founders) this.#add(name);
  }

  endpoint(name: string): Endpoint {
    return { address: `${this.#member(name).address}:${CLIENT_PORT}` };
  }

  metricsAddress(name: string): string {
    return `${this.#member(name).address}:${METRICS_PORT}`;
  }

  peerUrl(name: string): string {
    return `http://${name}.story:2380`;
  }

  spare(name: string): Promise<void> {
    this.#add(name);
    return Promise.resolve();
  }

  async start(name: string, flags: Flags, version = this.#version): Promise<string> {
    const { address, disk } = this.#member(name);
    this.#starts += 1;
    const started = this.#world.etcd.start(
      { uid: `${name} ${this.#starts}`, address, clusterUid: undefined, speeches: PLAIN },
      disk,
      {
        version,
        name,
        peerUrl: this.peerUrl(name),
        initialCluster: await this.#initialCluster(name, flags),
        isNew: flags === "first",
        token: "story",
      },
    );
    await this.settled();
    if (typeof started !== "string") return disk.heldBy === undefined ? "permanently removed" : "runs";
    return ENDINGS.find((ending) => started.includes(ending)) ?? `ended: ${started}`;
  }

  async kill(name: string): Promise<void> {
    const { disk } = this.#member(name);
    if (disk.heldBy === undefined) throw new Error(`${name} does not run`);
    this.#world.etcd.stop(disk.heldBy);
    await this.settled();
  }

  empty(name: string): void {
    const { disk } = this.#member(name);
    if (disk.heldBy !== undefined) throw new Error(`${name} runs`);
    this.#world.etcd.empty(disk);
  }

  async ended(name: string): Promise<void> {
    await this.settled();
    if (this.#member(name).disk.heldBy !== undefined) throw new Error(`${name} has not ended`);
  }

  /** Runs every event that happens by itself, until none is left. */
  settled(): Promise<void> {
    const { etcd, calls } = this.#world;
    calls.breathe();
    let isMoving = true;
    for (let round = 0; isMoving; round++) {
      if (round > 1_000) throw new Error("the simulated etcd does not settle");
      const all = [...etcd.processes.values()];
      isMoving = etcd.noticeLeaders();
      for (const act of ["elect", "replicate", "publish"] as const)
        for (const process of all) isMoving = etcd[act](process) || isMoving;
    }
    return Promise.resolve();
  }

  async wait(): Promise<void> {
    this.#world.time.nowMs += 1_000;
    await this.settled();
  }

  raiseCorrupt(name: string): Promise<void> {
    const { data } = this.#member(name).disk;
    if (data === undefined) throw new Error(`${name} has no data`);
    this.#world.etcd.truth.of(data.clusterId).alarms.add(data.memberId);
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  #add(name: string): void {
    const disk: Disk = { id: name, data: undefined, heldBy: undefined };
    this.#members.set(name, { address: `10.0.0.${this.#members.size + 1}`, disk });
  }

  #member(name: string): SimulatedMember {
    const member = this.#members.get(name);
    if (member === undefined) throw new Error(`member ${name} does not exist`);
    return member;
  }

  async #initialCluster(name: string, flags: Flags): Promise<ReadonlyMap<string, string>> {
    const mapped = (names: readonly string[]) => new Map(names.map((each) => [each, this.peerUrl(each)]));
    if (flags === "first") return mapped(this.founders);
    if (flags === "stale") return mapped([...this.founders, name]);
    if (flags === "fenced") return new Map([["fenced", "http://fenced.invalid:2380"]]);
    const [other] = [...this.#members].filter(([, { disk }]) => disk.heldBy !== undefined).map(([each]) => each);
    const endpoint = this.endpoint(other ?? name);
    const { members } = await this.client.memberList(endpoint, { ...OPTIONS, linearizable: true });
    const own = this.peerUrl(name);
    return new Map(members.map((each) => [each.peerUrls[0] === own ? name : each.name, each.peerUrls[0] ?? ""]));
  }
}

/** An ID of no cluster. */
export const NOBODYS_CLUSTER = 0xbadn as ClusterId;
