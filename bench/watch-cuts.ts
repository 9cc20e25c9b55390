import { setTimeout as sleep } from "node:timers/promises";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { type FaultProxy, startFaultProxy } from "#kit/servers/fault-proxy.ts";
import { Cache } from "#kube/cache.ts";
import { KubeClient, type Reader } from "#kube/client.ts";
import { kubeconfigFile } from "#kube/config.ts";
import { type Draft, keyOf, SECRETS, type Secret } from "#kube/kinds.ts";
import { median, rounded, say } from "./figure.ts";
import { OPTIONS } from "./kube.ts";
import { until } from "./until.ts";

/** Objects in the cache. */
const OBJECTS = 1_000;
/** Changes while the cache is cut off. */
const CHANGES = 20;
const ROUNDS = 5;
const LABELS = { bench: "watch" };
/** Limit for a recovery, in milliseconds: longer than IDLE_MS of the reflector and its backoff together. */
const WITHIN_MS = 180_000;

/** Seconds until the cache is up to date again, by kind of cut. */
export interface Cuts {
  /** Time from a reset of all connections. */
  readonly reset: number;
  /** Time from the end of a stall of five seconds, after which all bytes arrive. */
  readonly stall: number;
  /** Time until the cache notices that its connections are silent for ever. */
  readonly frozenNoticed: number;
  /** Time from that moment. */
  readonly frozen: number;
  /** Time from when a killed and restarted API server serves again. */
  readonly restart: number;
  /** Time from a reset after which the cache's resourceVersion is too old (410), so that it lists again. */
  readonly expired: number;
}

/** Cuts a cache off in each of these ways, and measures how long it takes to be up to date again. */
export async function measureCuts(): Promise<Cuts> {
  const server = await startApiServer();
  try {
    const bed = await TestBed.over(server);
    const cuts = {
      reset: await repeated("reset", () => bed.reset()),
      stall: await repeated("stall", () => bed.stall()),
      restart: await repeated("restart of the API server", () => bed.restart(), 3),
      // After the restart: an API server that has just started answers 410 for versions before its start.
      expired: await repeated("410", () => bed.expire()),
      ...(await bed.freeze()),
    };
    await bed.stop();
    return cuts;
  } finally {
    await server.stop();
  }
}

async function repeated(what: string, once: () => Promise<number>, rounds = ROUNDS): Promise<number> {
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round++) seconds.push(await once());
  say(`${what}: ${seconds.map((each) => each.toFixed(2)).join(", ")} s`);
  return rounded(median(seconds));
}

/** A cache behind a proxy, and a direct client of the server that is never cut off. */
class TestBed {
  readonly #server: ApiServer;
  readonly #proxy: FaultProxy;
  readonly #direct: KubeClient;
  readonly #behind: KubeClient;
  readonly #cache: Cache<Secret>;
  #isExpired = false;
  #serial = 0;

  static async over(server: ApiServer): Promise<TestBed> {
    const proxy = await startFaultProxy(server.port);
    const limits = { qps: 1_000, burst: 1_000 };
    const client = async (port: number) =>
      new KubeClient({
        config: await kubeconfigFile(server.kubeconfigFor("admin", port)),
        userAgent: "bench",
        limits,
      });
    const bed = new TestBed(server, proxy, await client(server.port), await client(proxy.port));
    for (let n = 0; n < OBJECTS; n += CHANGES) {
      await Promise.all(Array.from({ length: CHANGES }, (_, index) => bed.#write(`o${n + index}`)));
    }
    bed.#cache.start(OPTIONS.signal);
    await bed.#cache.whenSynced(OPTIONS.signal);
    return bed;
  }

  constructor(server: ApiServer, proxy: FaultProxy, direct: KubeClient, behind: KubeClient) {
    this.#server = server;
    this.#proxy = proxy;
    this.#direct = direct;
    this.#behind = behind;
    const reader: Reader = {
      list: (resource, query, options) => behind.list(resource, query, options),
      watch: (resource, query, options) =>
        behind.watch(
          resource,
          this.#isExpired && query.resourceVersion ? { ...query, resourceVersion: "1" } : query,
          options,
        ),
    };
    this.#cache = new Cache<Secret>({
      client: reader,
      resource: SECRETS,
      namespace: "default",
      labelSelector: "bench=watch",
      freeze: false,
    });
  }

  async reset(): Promise<number> {
    this.#proxy.reset();
    return await this.#secondsUntilRight(performance.now());
  }

  async stall(): Promise<number> {
    this.#proxy.freeze();
    await this.#change();
    await sleep(5_000);
    this.#proxy.thaw();
    return await this.#secondsUntilRight(performance.now());
  }

  async expire(): Promise<number> {
    const before = this.#cache.stats.restarts.KubeExpired ?? 0;
    this.#isExpired = true;
    this.#proxy.reset();
    const seconds = await this.#secondsUntilRight(performance.now());
    this.#isExpired = false;
    if ((this.#cache.stats.restarts.KubeExpired ?? 0) === before) throw new Error("The server did not answer 410.");
    return seconds;
  }

  async restart(): Promise<number> {
    await this.#change();
    await this.#server.kill();
    await this.#server.start();
    return await this.#secondsUntilRight(performance.now());
  }

  async freeze(): Promise<Pick<Cuts, "frozen" | "frozenNoticed">> {
    this.#proxy.freeze();
    const startMs = performance.now();
    await this.#change();
    const noticed = () => this.#cache.stats.restarts.idle !== undefined || undefined;
    await until("the cache notices the silence", noticed, { withinMs: WITHIN_MS });
    const noticedMs = performance.now();
    this.#proxy.thaw();
    const frozen = await this.#secondsUntilRight(noticedMs);
    say(
      `frozen link: noticed after ${((noticedMs - startMs) / 1000).toFixed(0)} s, up to date ${frozen.toFixed(2)} s later`,
    );
    return { frozenNoticed: Math.round((noticedMs - startMs) / 1000), frozen: rounded(frozen) };
  }

  async stop(): Promise<void> {
    await this.#cache.stop();
    await Promise.all([this.#direct.close(), this.#behind.close()]);
    await this.#proxy.stop();
  }

  async #secondsUntilRight(sinceMs: number): Promise<number> {
    const last = await this.#change();
    const seen = () => this.#cache.get(last.metadata)?.metadata.resourceVersion === last.metadata.resourceVersion;
    await until("the cache shows the last change", () => seen() || undefined, { everyMs: 1, withinMs: WITHIN_MS });
    const seconds = (performance.now() - sinceMs) / 1000;
    await this.#mustBeRight();
    return seconds;
  }

  /** Changes some objects. @returns the last one */
  async #change(): Promise<Secret> {
    for (let n = 1; n < CHANGES; n++) await this.#write(`o${(n * 37) % OBJECTS}`);
    return await this.#write("last");
  }

  async #write(name: string): Promise<Secret> {
    this.#serial += 1;
    const secret: Draft<Secret> = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: "default", labels: LABELS },
      stringData: { value: String(this.#serial) },
    };
    return await this.#direct.apply(SECRETS, secret, { ...OPTIONS, force: true });
  }

  /** @throws Error when the cache and the server differ */
  async #mustBeRight(): Promise<void> {
    const query = { namespace: "default", labelSelector: "bench=watch" };
    const truth = (await this.#direct.list(SECRETS, query, OPTIONS)).items;
    const held = new Map(this.#cache.list().map((object) => [keyOf(object), object.metadata.resourceVersion]));
    const isRight = truth.every((object) => held.get(keyOf(object)) === object.metadata.resourceVersion);
    if (!isRight || held.size !== truth.length) throw new Error("The cache differs from the server.");
  }
}
