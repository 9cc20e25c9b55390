import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { ensureComponents } from "#dev/components.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { freePort } from "#kit/servers/free-port.ts";

/** The releases that the tests use: the newest of each minor that the operator supports. */
export const ETCD_VERSIONS = ["3.5.35", "3.6.16", "3.7.3"] as const;
export type EtcdVersionText = (typeof ETCD_VERSIONS)[number];

/** How long a server may take to start. Two seconds on a quiet machine; beside all other tests it has needed more than 30. */
const READY_WITHIN_MS = 90_000;

/** Settings of one process; its ports are free ones on loopback. */
export interface MemberPlan {
  readonly version: EtcdVersionText;
  readonly name: string;
  readonly dir: string;
  readonly clientPort: number;
  readonly peerPort: number;
  readonly metricsPort: number;
  readonly token: string;
}

/** A real etcd process that can be stopped, frozen and started again on the same ports. */
export class EtcdMember {
  readonly plan: MemberPlan;
  /** The release for the next start. */
  version: EtcdVersionText;
  #process: ChildProcess | undefined;
  #log = "";

  constructor(plan: MemberPlan) {
    this.plan = plan;
    this.version = plan.version;
  }

  get peerUrl(): string {
    return `http://127.0.0.1:${this.plan.peerPort}`;
  }

  get endpoint(): Endpoint {
    return { address: `127.0.0.1:${this.plan.clientPort}` };
  }

  get metricsAddress(): string {
    return `127.0.0.1:${this.plan.metricsPort}`;
  }

  /** Output of the process since its last start, at most the last megabyte. */
  get log(): string {
    return this.#log;
  }

  /**
   * Starts the process without waiting for it.
   * @param bootstrap `--initial-cluster` and `--initial-cluster-state`
   */
  async start(
    bootstrap: { initialCluster: string; state: "new" | "existing" },
    extraArgs: readonly string[] = [],
  ): Promise<void> {
    const binary = await etcdBinary(this.version);
    const { name, dir, clientPort, metricsPort, token } = this.plan;
    const clientUrl = `http://127.0.0.1:${clientPort}`;
    this.#log = "";
    this.#process = spawn(
      binary,
      [
        `--name=${name}`,
        `--data-dir=${dir}`,
        `--listen-client-urls=${clientUrl}`,
        `--advertise-client-urls=${clientUrl}`,
        `--listen-peer-urls=${this.peerUrl}`,
        `--initial-advertise-peer-urls=${this.peerUrl}`,
        `--listen-metrics-urls=http://127.0.0.1:${metricsPort}`,
        `--initial-cluster=${bootstrap.initialCluster}`,
        `--initial-cluster-state=${bootstrap.state}`,
        `--initial-cluster-token=${token}`,
        // The data is needed only during the test.
        "--unsafe-no-fsync",
        ...extraArgs,
      ],
      { stdio: ["ignore", "ignore", "pipe"], env: {} },
    );
    running.add(this.#process);
    this.#process.stderr?.on("data", (bytes: Buffer) => {
      this.#log = (this.#log + bytes.toString()).slice(-(1024 ** 2));
    });
  }

  /** Stops the process with SIGSTOP, like a hanging disk would: its ports still accept connections. */
  async freeze(): Promise<void> {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error(`${this.plan.name} does not run`);
    process.kill(pid, "SIGSTOP");
    // The signal reaches the threads one by one; a thread that still runs may answer.
    await until(`${this.plan.name} is stopped`, async () => {
      const threads = await readdir(`/proc/${pid}/task`);
      const states = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/stat`, "utf8")));
      return states.every((state) => state.split(") ")[1]?.startsWith("T"));
    });
  }

  /** Continues a frozen process. */
  thaw(): void {
    this.#process?.kill("SIGCONT");
  }

  /** Resolves with the exit code when the process has ended by itself; null when a signal ended it. */
  async exited(): Promise<number | null> {
    const process = this.#process;
    if (process === undefined) throw new Error(`${this.plan.name} was never started`);
    if (process.exitCode === null && process.signalCode === null) {
      await new Promise((resolve) => process.once("exit", resolve));
    }
    running.delete(process);
    return process.exitCode;
  }

  /** Kills the process, as a power cut would, and waits until it is gone. */
  async kill(): Promise<void> {
    if (this.#process === undefined) return;
    this.#process.kill("SIGKILL");
    await this.exited();
  }

  /** Ends the process with SIGTERM, as a kubelet does, and waits for its exit, when all its data is on disk. */
  async terminate(): Promise<void> {
    if (this.#process === undefined) return;
    this.#process.kill("SIGTERM");
    await this.exited();
  }

  /** The HTTP status of a path that the probes request; undefined when nothing listens, or no answer comes in time. */
  async httpStatus(
    path: `/${"livez" | "readyz" | "health" | "metrics"}${string}`,
    withinMs = 5_000,
  ): Promise<number | undefined> {
    try {
      const address = path.startsWith("/readyz") ? this.endpoint.address : this.metricsAddress;
      const url = `http://${address}${path}`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(withinMs) });
      await answer.arrayBuffer();
      return answer.status;
    } catch {
      return undefined; // callers wait for both to end: nothing listens, or no answer in time
    }
  }
}

/** A cluster of real processes on loopback, with a client. */
export interface RunningEtcd {
  readonly version: EtcdVersionText;
  readonly token: string;
  readonly initialCluster: string;
  readonly members: readonly EtcdMember[];
  readonly client: EtcdClient;
  readonly pool: TransportPool;
  /** A further member with its own ports and directory, which is in no member list and does not run. */
  spare(name: string): Promise<EtcdMember>;
  /** Kills all running processes and deletes the data. */
  stop(): Promise<void>;
}

/** Starts a cluster and waits until every member knows the leader. */
export async function startEtcd(options: {
  version: EtcdVersionText;
  members: 1 | 3;
  token?: string;
  extraArgs?: readonly string[];
}): Promise<RunningEtcd> {
  const etcd = await planEtcd(options);
  try {
    for (const member of etcd.members) {
      await member.start({ initialCluster: etcd.initialCluster, state: "new" }, options.extraArgs);
    }
    await Promise.all(etcd.members.map((member) => untilLed(etcd.client, member)));
  } catch (thrown) {
    await etcd.stop();
    throw thrown;
  }
  return etcd;
}

/** A cluster before any member runs. */
export async function planEtcd(options: {
  version: EtcdVersionText;
  members: 1 | 3;
  token?: string;
}): Promise<RunningEtcd> {
  const { version, token = `test-${process.pid}` } = options;
  const root = mkdtempSync(join(tmpdir(), `etcd-${version}-`));
  const all: EtcdMember[] = [];
  const plan = async (name: string) => {
    const [clientPort, peerPort, metricsPort] = await freePorts();
    const member = new EtcdMember({ version, name, token, dir: join(root, name), clientPort, peerPort, metricsPort });
    all.push(member);
    return member;
  };
  for (let ordinal = 0; ordinal < options.members; ordinal++) await plan(`m${ordinal}`);
  const members = [...all];
  const pool = new TransportPool(systemClock);
  return {
    version,
    token,
    initialCluster: members.map((member) => `${member.plan.name}=${member.peerUrl}`).join(","),
    members,
    client: new GrpcClient({ pool, clock: systemClock }),
    pool,
    spare: plan,
    async stop() {
      pool.closeAll();
      await Promise.all(all.map((member) => member.kill()));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Waits until the member answers and knows a leader. */
export async function untilLed(client: EtcdClient, member: EtcdMember): Promise<void> {
  await until(`${member.plan.name} knows a leader`, async () => {
    const seen = await client.probe(member.endpoint, { signal: neverAborted, deadlineMs: 1_000 });
    return seen.is === "present" && seen.value.leaderId !== undefined;
  }).catch((thrown: Error) => {
    throw new Error(`${thrown.message}; its log ends with:\n${member.log.slice(-2_000)}`);
  });
}

/**
 * Waits until `holds` returns true.
 * @throws Error after 90 s
 */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const endMs = systemClock.monotonicMs() + READY_WITHIN_MS;
  while (!(await holds())) {
    if (systemClock.monotonicMs() > endMs) throw new Error(`not within ${READY_WITHIN_MS} ms: ${what}`);
    await systemClock.sleep(50);
  }
}

/** For calls that only their deadline ends. */
export const neverAborted: AbortSignal = new AbortController().signal;

async function etcdBinary(version: EtcdVersionText): Promise<string> {
  const component = `etcd-${version}` as const;
  const binaries = await ensureComponents([component], (_sentence, work) => work(() => {}));
  return binaries[component];
}

/** The system may offer a port twice while nothing listens on it. */
const givenPorts = new Set<number>();

/**
 * Test files that run in parallel share the ports: each takes one half. Linux prefers even ports, so the second bit
 * decides.
 */
const isOurs = (port: number) => Math.floor(port / 2) % 2 === Number(process.env.VITEST_POOL_ID ?? 0) % 2;

/** Every second offered port can be used; this many suffice to find three. */
const MOST_OFFERS = 100;

/** Three ports on which nothing listens now; each is given out once. */
async function freePorts(): Promise<[number, number, number]> {
  const found: number[] = [];
  for (let offers = 0; offers < MOST_OFFERS && found.length < 3; offers++) {
    const port = await freePort();
    if (!isOurs(port) || givenPorts.has(port)) continue;
    givenPorts.add(port);
    found.push(port);
  }
  const [a, b, c] = found;
  if (a === undefined || b === undefined || c === undefined) throw new Error("there are no free ports");
  return [a, b, c];
}

/** Processes must not outlive the test run, however it ends. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
