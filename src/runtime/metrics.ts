import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

const PREFIX = "etcd_operator_";
/** From a pass of milliseconds to one that reached its deadline. */
const SECONDS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Every metric of the operator. Label values come from closed lists, never from names of users' objects. */
export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(registry: Registry = new Registry()) {
  const registers = [registry];
  return {
    registry,
    /** Memory, CPU, event loop lag and garbage collection of the process. Called once, at start. */
    collectProcess: () => collectDefaultMetrics({ register: registry }),
    refusedNamespaces: new Gauge({
      name: `${PREFIX}refused_namespaces`,
      help: "Namespaces of --watch-namespaces that this process leaves out, because a right is missing there.",
      registers,
    }),
    passes: new Counter({
      name: `${PREFIX}passes_total`,
      help: "Passes, by result.",
      labelNames: ["controller", "result"],
      registers,
    }),
    passSeconds: new Histogram({
      name: `${PREFIX}pass_duration_seconds`,
      help: "Duration of passes.",
      labelNames: ["controller"],
      buckets: SECONDS_BUCKETS,
      registers,
    }),
    steps: new Counter({
      name: `${PREFIX}steps_total`,
      help: "Steps, by the rule that decided them and by outcome.",
      labelNames: ["controller", "rule", "outcome"],
      registers,
    }),
    waits: new Counter({
      name: `${PREFIX}waits_total`,
      help: "Passes that decided to wait, by the rule or guard that waits.",
      labelNames: ["controller", "rule"],
      registers,
    }),
    queueDepth: new Gauge({
      name: `${PREFIX}queue_depth`,
      help: "Keys that wait for a worker; those of new objects may also wait for a start slot.",
      labelNames: ["controller"],
      registers,
    }),
    queueAgeSeconds: new Gauge({
      name: `${PREFIX}queue_age_seconds`,
      help: "How long the oldest waiting key has waited.",
      labelNames: ["controller"],
      registers,
    }),
    queueWaitSeconds: new Histogram({
      name: `${PREFIX}queue_wait_duration_seconds`,
      help: "Time from the event that made a key ready to the start of its pass.",
      labelNames: ["controller"],
      buckets: SECONDS_BUCKETS,
      registers,
    }),
    noticesAndDeferrals: new Counter({
      name: `${PREFIX}notices_and_deferrals_total`,
      help: "Notices and deferred steps of passes, by rule and kind: notice, refused or delayed.",
      labelNames: ["controller", "rule", "kind"],
      registers,
    }),
    unwatchedSeconds: new Counter({
      name: `${PREFIX}unwatched_seconds_total`,
      help: "Time between two observations of a cluster beyond what one observation covers. It does not count towards the replacement of a member.",
      registers,
    }),
    expectationsLost: new Counter({
      name: `${PREFIX}expectations_lost_total`,
      help: "Writes of the operator that a cache did not show in time.",
      registers,
    }),
    kubeRequests: new Counter({
      name: `${PREFIX}kube_requests_total`,
      help: "Requests to the API server.",
      labelNames: ["verb", "resource", "code"],
      registers,
    }),
    etcdRequests: new Counter({
      name: `${PREFIX}etcd_requests_total`,
      help: "Requests to etcd members.",
      labelNames: ["method", "code"],
      registers,
    }),
    watchRestarts: new Counter({
      name: `${PREFIX}watch_restarts_total`,
      help: "Restarts of the watch of each cache, by reason.",
      labelNames: ["resource", "reason"],
      registers,
    }),
    leading: new Gauge({ name: `${PREFIX}leading`, help: "1 while this process holds the lease.", registers }),
  };
}
