import type { EtcdCluster, EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { EtcdPeerStatus } from "#api/v1beta1/peer.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { type Log, silentLog } from "#base/log.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import type { Issuer } from "#certificates/issue.ts";
import { Keyring } from "#certificates/keyring.ts";
import { clusterController, clusterKeysFor } from "#cluster/controller.ts";
import { CLUSTER_INDEX } from "#cluster/observe/cached-parts.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { KubeClient, Preconditions } from "#kube/client.ts";
import { type AnyResource, type Draft, type KubeObject, keyOf, type Ref, type Resource } from "#kube/kinds.ts";
import { peerController, peerKeysFor } from "#peer/controller.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import type { RoleStep } from "#role/step.ts";
import { ControlLoop } from "#runtime/control-loop.ts";
import { type Controller, type Key, keyText } from "#runtime/controller.ts";
import { Expectations } from "#runtime/expectations.ts";
import { createMetrics } from "#runtime/metrics.ts";
import type { PassTools } from "#runtime/pass.ts";
import type { UserSnapshot } from "#user/snapshot.ts";
import type { UserStep } from "#user/step.ts";
import { type Caches, createCaches } from "../../../src/bin/caches.ts";
import { accessLoops, type RoleController, type UserController } from "./access-controllers.ts";
import type { Actor, ApiServer } from "./api.ts";
import type { Calls } from "./calls.ts";
import type { ProcessClock, WorldTime } from "./clock.ts";
import type { WatchServer } from "./watch.ts";

type AccessSnapshot = RoleSnapshot | UserSnapshot;
type AccessStep = RoleStep | UserStep;
export type ClusterController = Controller<ClusterSnapshot, ClusterStep, EtcdClusterStatus>;
export type PeerController = Controller<PeerSnapshot, PeerStep, EtcdPeerStatus>;

/** How a mutant differs from the operator. Each function gets the real part and returns a worse one. */
export interface Mutation {
  readonly cluster?: (real: ClusterController, kube: KubeClient) => ClusterController;
  readonly peer?: (real: PeerController, kube: KubeClient) => PeerController;
  readonly role?: (real: RoleController) => RoleController;
  readonly user?: (real: UserController) => UserController;
  readonly kube?: (real: KubeClient, api: ApiServer) => KubeClient;
  readonly etcd?: (real: EtcdClient) => EtcdClient;
  readonly tools?: (real: PassTools) => PassTools;
}

/** Events inside the operator that checks of the simulation use. */
export type OperatorEvent =
  | { readonly is: "decided"; readonly controller: string; readonly rule: string }
  | {
      readonly is: "acts";
      readonly controller: string;
      readonly lookedFrom: number;
      readonly snapshot: ClusterSnapshot | PeerSnapshot;
      readonly step: ClusterStep | PeerStep;
    }
  | {
      /** A step for an EtcdRole or an EtcdUser. */
      readonly is: "actsOnAccess";
      readonly lookedFrom: number;
      readonly snapshot: AccessSnapshot;
      readonly step: AccessStep;
    }
  | {
      readonly is: "clusterStatus";
      readonly lookedFrom: number;
      readonly snapshot: ClusterSnapshot;
      readonly status: EtcdClusterStatus;
    }
  | {
      readonly is: "peerStatus";
      readonly lookedFrom: number;
      readonly snapshot: PeerSnapshot;
      readonly status: EtcdPeerStatus;
    };

interface Parts {
  readonly api: ApiServer;
  readonly watches: WatchServer;
  readonly calls: Calls;
  readonly etcd: EtcdClient;
  readonly time: WorldTime;
  readonly issuer: Issuer;
  readonly now: () => number;
  readonly happened: (event: OperatorEvent) => void;
  readonly write: (run: () => unknown, isLeading: boolean) => unknown;
  readonly tell: ((text: string) => void) | undefined;
  readonly mutation: Mutation;
  /** How many other clusters are at rest. */
  readonly othersAtRest: number;
  /** Whether it runs the controllers of EtcdRoles and EtcdUsers, too. */
  readonly hasAccess: boolean;
}

/** Several passes in parallel, as in the Deployment. */
const WORKERS = 2;
/**
 * Shorter than the default and shorter than the time in which a history settles, so that lost members are replaced
 * within it.
 */
export const REPLACE_AFTER_MS = 20_000;
/** `--member-timeout`: longer than REPLACE_AFTER_MS, as by default. */
export const MEMBER_TIMEOUT_MS = 25_000;
export const REREAD_WITHIN_MS = 150_000;
const metrics = createMetrics();

/** One operator process, wired as in src/bin/controllers.ts, with the real controllers, caches and passes. */
export class OperatorProcess {
  isLeading = true;
  passes = 0;
  /** Number of passes by controller and key. */
  readonly looks = new Map<string, number>();
  /** Number of passes that ended after the quick check, by controller and key, for controllers that have one. */
  readonly quickChecks = new Map<string, number>();
  readonly #parts: Parts;
  readonly #clock: ProcessClock;
  /** Checked again when a change is sent, as in src/kube/call.ts. */
  #mayChange = (): boolean => this.isLeading;
  /** Never aborted: a process that crashes does not clean up. */
  readonly #signal = new AbortController().signal;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#clock = parts.time.clock();
    const { mutation, happened } = parts;
    const real = this.#kube();
    const kube = mutation.kube?.(real, parts.api) ?? real;
    const etcd = mutation.etcd?.(parts.etcd) ?? parts.etcd;
    const log = parts.tell === undefined ? silentLog : tracingLog(parts.tell);
    const caches = createCaches(real, this.#clock, silentLog);
    const tools: PassTools = {
      clock: this.#clock,
      log,
      metrics,
      expectations: expectationsOf(this.#clock, caches),
      publish: () => undefined,
      mayAct: () => this.isLeading,
    };
    const settings = {
      imageRepository: "example.test/etcd",
      replaceAfterMs: REPLACE_AFTER_MS,
      memberTimeoutMs: MEMBER_TIMEOUT_MS,
      rereadWithinMs: REREAD_WITHIN_MS,
      operatorNamespace: "etcd-operator-system",
      othersAtRest: parts.othersAtRest,
      fleetSize: () => caches.clusters.size,
    };
    const identities = new Keyring();
    const reads = { ...caches, kube, etcd, identities, clock: this.#clock, ...settings };
    const cluster = clusterController({ kube, etcd, identities, issuer: parts.issuer }, reads);
    const peer = peerController(kube, reads);
    const used = mutation.tools?.(tools) ?? tools;
    this.#mayChange = used.mayAct;
    const controllers: Pick<ControlLoop<never, never, never>, "run">[] = [
      new ControlLoop({
        controller: this.#watched(mutation.cluster?.(cluster, kube) ?? cluster, (lookedFrom, snapshot, status) =>
          happened({ is: "clusterStatus", lookedFrom, snapshot, status }),
        ),
        watches: [
          { cache: caches.clusters, keysFor: ownKey },
          ...[caches.peers, caches.services, caches.budgets, caches.networkPolicies, caches.claims, caches.pods].map(
            (cache) => ({
              cache,
              keysFor: clusterKeysFor,
            }),
          ),
        ],
        allKeys: () => caches.clusters.list().flatMap(ownKey),
        tools: used,
      }),
      new ControlLoop({
        controller: this.#watched(mutation.peer?.(peer, kube) ?? peer, (lookedFrom, snapshot, status) =>
          happened({ is: "peerStatus", lookedFrom, snapshot, status }),
        ),
        watches: [
          { cache: caches.peers, keysFor: ownKey },
          { cache: caches.clusters, keysFor: (cluster) => sleepersOf(cluster as EtcdCluster, caches) },
          ...[caches.claims, caches.replicaSets, caches.pods].map((cache) => ({ cache, keysFor: peerKeysFor })),
        ],
        allKeys: () => caches.peers.list().flatMap(ownKey),
        tools: used,
      }),
    ];
    const { issuer, hasAccess } = parts;
    const ofAccess = { caches, kube, etcd, identities, issuer, clock: this.#clock, stop: this.#signal, tools: used };
    if (hasAccess)
      controllers.push(
        ...accessLoops({
          ...ofAccess,
          role: (real) => this.#watched(mutation.role?.(real) ?? real, () => undefined),
          user: (real) => this.#watched(mutation.user?.(real) ?? real, () => undefined),
        }),
      );
    for (const cache of Object.values(caches)) cache.start(this.#signal);
    void Promise.all(Object.values(caches).map((cache) => cache.whenSynced(this.#signal))).then(() =>
      Promise.all(controllers.map((controller) => controller.run(this.#signal, WORKERS))),
    );
  }

  /** The process dies at whatever point it is. */
  crash(): void {
    this.#clock.stop();
    this.#parts.calls.abandon();
    this.#parts.watches.forget();
  }

  #kube(): KubeClient {
    const { api, watches, calls, write } = this.#parts;
    const actor: Actor = "operator";
    const send = <T>(verb: string, resource: AnyResource, of: Ref | { metadata: Ref }, run: () => T): Promise<T> => {
      const text = `${verb} ${resource.plural} ${keyOf(of)}`;
      const { isLeading } = this;
      if (!this.#mayChange()) return Promise.reject(new OperatorError("LeaseLost", `${text}: not sent`));
      const unavailable = (why: string) => new OperatorError("KubeUnavailable", `${text}: ${why}`);
      return calls.send({ text, changes: true, unavailable, run: () => write(run, isLeading) as T });
    };
    const get = <T extends KubeObject>(resource: Resource<T>, ref: Ref): Promise<T> => {
      const text = `get ${resource.plural} ${keyOf(ref)}`;
      const unavailable = (why: string) => new OperatorError("KubeUnavailable", `${text}: ${why}`);
      const read = () => {
        // In a path, any other name is that of a subresource, or of nothing.
        if (!/^[a-z0-9.:-]+$/.test(ref.name)) throw new OperatorError("KubeForbidden", `${text}: not granted`);
        const found = api.find(resource, ref);
        if (found === undefined) throw new OperatorError("KubeNotFound", `${text}: not found`);
        return found;
      };
      return calls.send({ text, changes: false, unavailable, run: read });
    };
    const find = async <T extends KubeObject>(resource: Resource<T>, ref: Ref): Promise<Observed<T>> => {
      try {
        return present(await get(resource, ref));
      } catch (thrown) {
        return hasCode(thrown, "KubeNotFound") ? absent : unknown(String(thrown));
      }
    };
    const client = {
      get,
      find,
      list: <T extends KubeObject>(resource: Resource<T>, query: Parameters<WatchServer["list"]>[1]) => {
        if (query.namespace === undefined) return watches.list(resource, query); // a cache lists its kind
        const text = `list ${resource.plural} ${query.namespace}`;
        const unavailable = (why: string) => new OperatorError("KubeUnavailable", `${text}: ${why}`);
        return calls.send({ text, changes: false, unavailable, run: () => watches.listed(resource, query) });
      },
      watch: watches.watch,
      create: <T extends KubeObject>(resource: Resource<T>, draft: Draft<T>) =>
        send("create", resource, draft, () => api.create(actor, resource, draft)),
      replace: <T extends KubeObject>(resource: Resource<T>, draft: Draft<T>, options: { subresource?: "status" }) =>
        send(`replace${options.subresource === undefined ? "" : " status of"}`, resource, draft, () =>
          api.replace(actor, resource, draft, options.subresource),
        ),
      patch: <T extends KubeObject>(
        resource: Resource<T>,
        ref: Ref,
        patch: object,
        options: { preconditions?: Preconditions },
      ) => send("patch", resource, ref, () => api.patch(actor, resource, ref, patch, options.preconditions ?? {})),
      delete: (resource: AnyResource, ref: Ref, options: { preconditions: Preconditions }) =>
        send("delete", resource, ref, () => api.delete(actor, resource, ref, options)),
    };
    return client as unknown as KubeClient;
  }

  /** Wraps the controller so that its steps and statuses are reported to the simulation's checks. */
  #watched<Snapshot extends object, Step extends { readonly do: string }, Status>(
    real: Controller<Snapshot, Step, Status>,
    tellStatus: (lookedFrom: number, snapshot: Snapshot, status: Status) => void,
  ): Controller<Snapshot, Step, Status> {
    const { now, happened } = this.#parts;
    const looks = new WeakMap<Snapshot, number>();
    return {
      ...real,
      quickCheck: async (key, signal) => {
        const restMs = await real.quickCheck?.(key, signal);
        const name = `${real.name} ${keyText(key)}`;
        if (restMs !== undefined) this.quickChecks.set(name, (this.quickChecks.get(name) ?? 0) + 1);
        return restMs;
      },
      observe: async (key, signal) => {
        this.passes += 1;
        const name = `${real.name} ${keyText(key)}`;
        this.looks.set(name, (this.looks.get(name) ?? 0) + 1);
        const from = now();
        const seen = await real.observe(key, signal);
        if (seen.is === "present") looks.set(seen.value, from);
        return seen;
      },
      plan: (snapshot, resting) => {
        const plan = real.plan(snapshot, resting);
        const told = (plan.reports ?? []).flatMap(({ rule, is }) => (is === "notice" ? [rule] : []));
        for (const rule of [plan.next === "settled" ? "settled" : plan.rule, ...told])
          happened({ is: "decided", controller: real.name, rule });
        return plan;
      },
      act: (step, snapshot, signal) => {
        const lookedFrom = looks.get(snapshot) ?? 0;
        // The controller's name decides the type of the snapshot.
        const told = { lookedFrom, snapshot: snapshot as never, step: step as never };
        if (real.name === "role" || real.name === "user") happened({ is: "actsOnAccess", ...told });
        else happened({ is: "acts", controller: real.name, ...told });
        return real.act(step, snapshot, signal);
      },
      status: (snapshot, plan) => {
        const status = real.status(snapshot, plan);
        tellStatus(looks.get(snapshot) ?? 0, snapshot, status);
        return status;
      },
    };
  }
}

function expectationsOf(clock: ProcessClock, caches: Caches): Expectations {
  const byPlural = new Map<string, Caches[keyof Caches]>();
  for (const cache of Object.values(caches)) byPlural.set(cache.resource.plural, cache);
  return new Expectations(
    clock,
    ({ plural }) => byPlural.get(plural),
    () => undefined,
  );
}

function ownKey({ metadata }: KubeObject): readonly Key[] {
  return metadata.namespace === undefined ? [] : [{ namespace: metadata.namespace, name: metadata.name }];
}

/** Keys of the EtcdPeers of a cluster that sleeps or wakes up. */
function sleepersOf({ metadata, status }: EtcdCluster, { peers }: Caches): readonly Key[] {
  if (status?.sleep === undefined) return [];
  return peers.byIndex(CLUSTER_INDEX, `${metadata.namespace}/${metadata.name}`).flatMap(ownKey);
}

function tracingLog(tell: (text: string) => void): Log {
  const say: Log["info"] = (fields, message) => {
    const words = [fields.controller, fields.name, message, fields.rule, fields.step, fields.because, fields.error];
    tell(`operator: ${words.filter((word) => word !== undefined).join(" | ")}`);
  };
  const log: Log = { debug: say, info: say, warn: say, error: say, with: (more) => bound(log, more) };
  return log;
}

function bound(log: Log, more: Parameters<Log["with"]>[0]): Log {
  return {
    debug: (fields, message) => log.debug({ ...more, ...fields }, message),
    info: (fields, message) => log.info({ ...more, ...fields }, message),
    warn: (fields, message) => log.warn({ ...more, ...fields }, message),
    error: (fields, message) => log.error({ ...more, ...fields }, message),
    with: (others) => bound(log, { ...more, ...others }),
  };
}
