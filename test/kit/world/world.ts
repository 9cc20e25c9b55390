import { NO_TLS } from "#api/tls.ts";
import type { ClusterId } from "#etcd/types.ts";
import { QuickIssuer } from "#kit/etcd/quick-certificates.ts";
import type { Pod } from "#kube/kinds.ts";
import { ApiServer, type ApiWrite } from "./api.ts";
import { Calls } from "./calls.ts";
import { WorldTime } from "./clock.ts";
import { KubeControllers } from "./controllers.ts";
import { Etcd, type EtcdEvent } from "./etcd.ts";
import { WorldEtcdClient } from "./etcd-client.ts";
import { Kubelets } from "./kubelet.ts";
import { type Mutation, type OperatorEvent, OperatorProcess } from "./operator.ts";
import { People } from "./people.ts";
import { Random } from "./random.ts";
import { WatchServer } from "./watch.ts";

/** Every event that checks of the simulation use. */
export type WorldEvent =
  | ({ readonly is: "write"; readonly isLeading: boolean } & ApiWrite)
  /** A member list that a quorum confirmed. */
  | { readonly is: "listed"; readonly clusterId: ClusterId }
  /** The operator was served through a Service. */
  | { readonly is: "served"; readonly service: string }
  | EtcdEvent
  | OperatorEvent
  /** The API server has granted an eviction. */
  | { readonly is: "evicted"; readonly pod: Pod }
  /** The simulation has taken one step. */
  | { readonly is: "step" };

export interface WorldOptions {
  readonly seed: number;
  readonly replicas: number;
  readonly hasLocalVolumes: boolean;
  /** A claim is bound only when a pod that uses it is to be scheduled. */
  readonly bindsLate: boolean;
  /**
   * How long a deleted pod exists at most after its etcd has ended, in milliseconds. By default as long as on real
   * nodes.
   */
  readonly slowestEndMs?: number;
  /** Values for `spec.version`. */
  readonly versions: readonly string[];
  /** Whether etcd refuses what a real one would refuse; see etcd.ts. */
  readonly hasStrictEtcd: boolean;
  /** `spec.tls` of the clusters that people create; without TLS by default. */
  readonly tls?: object;
  /**
   * How many other clusters at rest the operator manages. The more, the more rarely it rechecks the simulated ones.
   * None by default.
   */
  readonly othersAtRest?: number;
  /** `spec.auth.enabled` of the clusters that people create; left out by default. */
  readonly auth?: boolean;
  /** Whether the operator runs the controllers of EtcdRoles and EtcdUsers, too. */
  readonly hasAccess?: boolean;
  readonly mutation: Mutation;
  readonly happened: (event: WorldEvent, world: World) => void;
  /** Gets every line of the history; undefined when no trace is needed, which is faster. */
  readonly trace: ((line: string) => void) | undefined;
}

/**
 * Kubernetes, etcd, people and the operator in one thread; the seed decides every event. The operator is the real one,
 * from its caches to its calls.
 */
export class World {
  readonly random: Random;
  readonly time = new WorldTime();
  readonly api: ApiServer;
  readonly etcd: Etcd;
  readonly kubelets: Kubelets;
  readonly controllers: KubeControllers;
  readonly people: People;
  readonly calls: Calls;
  /** Certificates are made one after another, even for different operator processes. */
  readonly issuer = new QuickIssuer();
  readonly watches: WatchServer;
  operator: OperatorProcess | undefined;
  /** Number of steps so far, which orders events that happen at the same time. */
  step = 0;
  /** Writes of the operator so far. */
  writes = 0;
  readonly #options: WorldOptions;
  readonly #startedAtMs: number;
  /** Whether the operator process of the running call is the leader. */
  #isLeading = true;

  constructor(options: WorldOptions) {
    this.#options = options;
    const random = new Random(options.seed);
    this.random = random;
    const { time } = this;
    this.#startedAtMs = time.nowMs;
    const nowMs = () => time.nowMs;
    const tell = (text: string) => this.tell(text);
    const happened = (event: WorldEvent) => this.happened(event);
    this.api = new ApiServer({ random, nowMs, onWrite: (write) => this.#wrote(write) });
    this.etcd = new Etcd({ isStrict: options.hasStrictEtcd, random, nowMs, happened, tell });
    const { hasLocalVolumes, bindsLate, replicas, versions } = options;
    const [clock, parts] = [time.clock(), { api: this.api, etcd: this.etcd, random, nowMs, tell }];
    const { slowestEndMs = Number.POSITIVE_INFINITY } = options;
    this.kubelets = new Kubelets({ ...parts, clock, hasLocalVolumes, bindsLate, slowestEndMs });
    this.controllers = new KubeControllers({ api: this.api, etcd: this.etcd, kubelets: this.kubelets, random });
    this.people = new People({
      api: this.api,
      etcd: this.etcd,
      kubelets: this.kubelets,
      random,
      tell,
      replicas,
      versions,
      tls: options.tls ?? NO_TLS,
      auth: options.auth,
      nowMs,
      evicted: (pod) => happened({ is: "evicted", pod }),
    });
    this.calls = new Calls(random, nowMs, tell);
    this.watches = new WatchServer(this.api);
  }

  /** How many other clusters are at rest. */
  get othersAtRest(): number {
    return this.#options.othersAtRest ?? 0;
  }

  startOperator(): void {
    this.tell("the operator starts");
    const { api, watches, calls, time } = this;
    this.operator = new OperatorProcess({
      api,
      watches,
      calls,
      time,
      issuer: this.issuer,
      etcd: new WorldEtcdClient({
        api,
        etcd: this.etcd,
        calls,
        time,
        onServed: (service) => this.happened({ is: "served", service }),
        onList: ({ data }) => this.happened({ is: "listed", clusterId: data.clusterId }),
      }).asClient(),
      now: () => this.step,
      happened: (event) => this.happened(event),
      write: (run, isLeading) => {
        this.#isLeading = isLeading;
        return run();
      },
      tell: this.#options.trace === undefined ? undefined : (text) => this.tell(text),
      mutation: this.#options.mutation,
      othersAtRest: this.othersAtRest,
      hasAccess: this.#options.hasAccess ?? false,
    });
  }

  crashOperator(): void {
    this.tell("the operator crashes");
    this.operator?.crash();
    this.operator = undefined;
  }

  happened(event: WorldEvent): void {
    this.#options.happened(event, this);
  }

  /** One line of the history, with its time in seconds. */
  tell(text: string): void {
    const { trace } = this.#options;
    if (trace === undefined) return;
    const seconds = ((this.time.nowMs - this.#startedAtMs) / 1000).toFixed(2);
    trace(`${String(this.step).padStart(4)} ${seconds.padStart(8)} s  ${text}`);
  }

  #wrote(write: ApiWrite): void {
    if (write.actor === "operator") {
      this.writes += 1;
      const { verb, resource, before, after } = write;
      const metadata = (after ?? before)?.metadata;
      this.tell(`operator: ${verb} ${resource.kind} ${metadata?.name} -> version ${after?.metadata.resourceVersion}`);
    }
    this.happened({ is: "write", isLeading: this.#isLeading, ...write });
  }
}
