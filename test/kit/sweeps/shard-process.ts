import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { bounded, type Fate, LeaseServer } from "#kit/servers/kube-lease-server.ts";
import type { FakeClock } from "#kit/time/fake-clock.ts";
import { Election, type LeaseClient } from "#kube/lease.ts";
import { LeasePair } from "#kube/lease-pair.ts";
import { groupName } from "#shards/belonging.ts";
import { Group } from "#shards/group.ts";
import { GroupLease } from "#shards/group-lease.ts";
import { Holdings } from "#shards/holdings.ts";

/** After this time a late call arrives, in milliseconds: its caller has given up by then. */
const LATE_MS = 12_000;

/** The leases of one installation, and that of the whole Kubernetes cluster. */
export class Leases {
  readonly own = new LeaseServer();
  readonly whole: LeaseServer;
  readonly namespace: string;
  readonly #shards = new Map<number, LeaseServer>();

  constructor(namespace: string, whole = new LeaseServer()) {
    this.namespace = namespace;
    this.whole = whole;
  }

  shard(number: number): LeaseServer {
    const server = this.#shards.get(number) ?? new LeaseServer();
    this.#shards.set(number, server);
    return server;
  }
}

/**
 * Leadership of one of so many shards, since its preparation. `mayAct` is called for ever, as a pass that hangs would.
 */
interface Term {
  readonly shard: number;
  readonly of: number;
  readonly mayAct: () => boolean;
  isWorking: boolean;
}

/**
 * One process of the operator with its leases. It is started again after its end, until it is dead. While it is frozen
 * its timers stand still.
 */
export class ShardProcess {
  fate: Fate = "arrives";
  /** The fate of calls for leases that it holds with its group. */
  groupFate: Fate | undefined;
  travelMs = 0;
  /** How long its work continues after it was stopped, by shard or for all shards. */
  drainMs: number | ((shard: number) => number) = 0;
  /** Whether it may write the leases of shards; it can read them, and belongs to the group. */
  mayTake = true;
  /** Whether it can read the objects that it needs to lead a shard. */
  canRead = true;
  /** The number of shards at its next start. */
  shards: number;
  readonly terms: Term[] = [];
  /** Whether it is dead, and has given everything back. */
  hasEnded = false;
  readonly #name: string;
  readonly #leases: Leases;
  readonly #clock: FakeClock;
  readonly #random: () => number;
  #stop = new AbortController();
  /** Settles when the process is thawed; undefined while it is not frozen. */
  #thaw: PromiseWithResolvers<void> | undefined;
  #isDead = false;
  #holdings: Holdings | undefined;

  constructor(name: string, shards: number, leases: Leases, clock: FakeClock, random: () => number) {
    this.#name = name;
    this.shards = shards;
    this.#leases = leases;
    this.#clock = clock;
    this.#random = random;
    void this.#live();
  }

  get frozen(): boolean {
    return this.#thaw !== undefined;
  }

  set frozen(isFrozen: boolean) {
    if (isFrozen) this.#thaw ??= Promise.withResolvers<void>();
    else this.#thaw?.resolve();
    if (!isFrozen) this.#thaw = undefined;
  }

  /** Shards that it may act on. */
  get leads(): readonly number[] {
    return this.terms.filter(({ mayAct }) => mayAct()).map(({ shard }) => shard);
  }

  /** Shards that it works on. */
  get works(): readonly number[] {
    return Array.from({ length: this.shards }, (_, shard) => shard).filter((shard) => this.#holdings?.leads(shard));
  }

  /** Shards that it gave back because it could not read their objects; it is not ready while there are any. */
  get unread(): readonly number[] {
    return this.#holdings?.unread ?? [];
  }

  /**
   * Restarts it, as after SIGTERM.
   * @param shards the new number of shards; undefined: unchanged
   */
  restart(shards?: number): void {
    if (shards !== undefined) this.shards = shards;
    this.#stop.abort();
  }

  /** Ends it for good, as after SIGTERM. */
  end(): void {
    this.#isDead = true;
    this.#stop.abort();
  }

  /** Kills it, as with SIGKILL. */
  kill(): void {
    this.fate = "lost";
    this.frozen = true;
  }

  async #live(): Promise<void> {
    for (let start = 0; !this.#isDead; start++) {
      await (this.shards === 1 ? this.#unsharded(start) : this.#sharded(this.shards, start));
      if (!this.#isDead) this.#stop = new AbortController();
      if (!this.#isDead) await this.#wait(1_000);
    }
    this.hasEnded = true;
  }

  async #unsharded(start: number): Promise<void> {
    const identity = `${this.#name}-${start}`;
    const { own, whole } = this.#leases;
    const pair = new LeasePair(this.#election(own, identity), this.#election(whole, identity));
    const term: Term = { shard: 0, of: 1, mayAct: () => pair.mayAct(), isWorking: false };
    this.terms.push(term);
    const lost = new AbortController();
    await pair.run(AbortSignal.any([this.#stop.signal, lost.signal]), {
      onStarted: (leading) => this.#work(term, leading),
      onStopped: () => lost.abort(),
    });
  }

  async #sharded(of: number, start: number): Promise<void> {
    const process = `${this.#name}-${start}`;
    const { own, whole, namespace } = this.#leases;
    const leaseOf = (server: LeaseServer, name: string): GroupLease =>
      new GroupLease({
        client: this.#client(server, () => this.groupFate ?? this.fate),
        namespace: "default",
        name: "operator",
        group: name,
        process,
        clock: this.#ownClock,
        random: this.#random,
      });
    const group = new Group([leaseOf(own, groupName(of)), leaseOf(whole, `${namespace}/${groupName(of)}`)]);
    const holdings = new Holdings({
      process,
      group,
      clock: this.#ownClock,
      elections: Array.from({ length: of }, (_, shard) =>
        this.#election(this.#leases.shard(shard), process, () => this.mayTake),
      ),
      prepare: (shard, mayAct) => {
        const term: Term = { shard, of, mayAct, isWorking: false };
        this.terms.push(term);
        return {
          whenReady: (signal) => this.#read(signal),
          run: (leading) => this.#work(term, leading),
          close: () => Promise.resolve(),
        };
      },
    });
    this.#holdings = holdings;
    await group.during(() => holdings.run(this.#stop.signal));
  }

  async #read(signal: AbortSignal): Promise<boolean> {
    while (!this.canRead && !signal.aborted) await this.#wait(1_000, signal).catch(() => undefined);
    return !signal.aborted;
  }

  async #work(term: Term, leading: AbortSignal): Promise<void> {
    term.isWorking = true;
    if (!leading.aborted) await new Promise<void>((resolve) => leading.addEventListener("abort", () => resolve()));
    const { drainMs } = this;
    await this.#wait(typeof drainMs === "number" ? drainMs : drainMs(term.shard));
    term.isWorking = false;
  }

  #election(server: LeaseServer, identity: string, mayWrite: () => boolean = () => true): Election {
    const clock = this.#ownClock;
    const client = this.#client(server);
    const refusing: LeaseClient = {
      ...client,
      create: (...call) => (mayWrite() ? client.create(...call) : refused()),
      replace: (...call) => (mayWrite() ? client.replace(...call) : refused()),
    };
    return new Election({ client: refusing, namespace: "default", name: "operator", identity, clock });
  }

  #client(server: LeaseServer, fate: () => Fate = () => this.fate) {
    server.heldUp = () => this.#clock.sleep(LATE_MS);
    return bounded(
      server.client(fate, () => this.#wait(this.travelMs)),
      this.#clock,
    );
  }

  get #ownClock(): Clock {
    return {
      wallMs: () => this.#clock.wallMs(),
      monotonicMs: () => this.#clock.monotonicMs(),
      sleep: (ms, signal) => this.#wait(ms, signal),
      after: (ms, run) => this.#clock.after(ms, run),
    };
  }

  async #wait(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms > 0) await this.#clock.sleep(ms, signal);
    while (this.#thaw !== undefined) await this.#thaw.promise;
  }
}

function refused(): Promise<never> {
  return Promise.reject(new OperatorError("KubeForbidden", "the process may not write this lease"));
}
