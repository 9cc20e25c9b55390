import { TASK_VARIABLE } from "#agent/task.ts";
import { AGENT_CONTAINER, MANAGED_BY_LABEL, OPERATOR } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import {
  controllerOf,
  type Job,
  type PersistentVolumeClaim,
  type Pod,
  type PodDisruptionBudget,
  type ReplicaSet,
} from "#kube/kinds.ts";

// The parts of objects that caches keep in memory: the fields that some code reads. A member's pod is the largest
// object, and most of it repeats its ReplicaSet. A change of a dropped field triggers nothing (kube/store.ts), so
// status fields such as the number of available pods are dropped, too.

/** A Job, reduced to the agent's task and Secrets. Jobs are never compared, and their templates are long. */
export function withTaskAlone({ apiVersion, kind, metadata, spec, status }: Job): Job {
  const kept = taskIn(spec?.template.spec);
  return { apiVersion, kind, metadata, ...kept, ...(status === undefined ? {} : { status }) } as Job;
}

function taskIn(pod: Pod["spec"]) {
  const agent = pod?.containers.find(({ name }) => name === AGENT_CONTAINER);
  const task = agent?.env?.find(({ name }) => name === TASK_VARIABLE);
  if (agent === undefined || task === undefined) return {};
  const containers = [{ name: agent.name, env: [task] }];
  return { spec: { template: { spec: { containers, volumes: shownSecrets(pod) } } } };
}

/**
 * A ReplicaSet. Its template is reduced to the Secrets that pods mount, because templates are compared by the hash in
 * the annotations. Its status is reduced to the observed generation, and to why a pod cannot be created.
 */
export function withSecretsAlone({ apiVersion, kind, metadata, spec, status }: ReplicaSet): ReplicaSet {
  const volumes = shownSecrets(spec?.template?.spec);
  const kept = { replicas: spec?.replicas, ...(volumes.length === 0 ? {} : { template: { spec: { volumes } } }) };
  const { observedGeneration, conditions } = status ?? {};
  const keptStatus = { observedGeneration, ...(conditions === undefined ? {} : { conditions }) };
  const statusField = status === undefined ? {} : { status: keptStatus };
  return { apiVersion, kind, metadata, spec: kept, ...statusField } as ReplicaSet;
}

/**
 * A budget. Its status is reduced to the observed generation and the pods being evicted: only drains read the allowed
 * disruptions.
 */
export function withEvictionsAlone({ status, ...budget }: PodDisruptionBudget): PodDisruptionBudget {
  const { observedGeneration, disruptedPods } = status ?? {};
  const keptStatus = { observedGeneration, ...(disruptedPods === undefined ? {} : { disruptedPods }) };
  return { ...budget, ...(status === undefined ? {} : { status: keptStatus }) } as PodDisruptionBudget;
}

/** Whether a label or the owner shows that the operator created the budget for a cluster. */
export function isOfCluster(budget: PodDisruptionBudget): boolean {
  const { labels = {} } = budget.metadata;
  return labels[MANAGED_BY_LABEL] === OPERATOR || controllerOf(budget)?.kind === ETCD_CLUSTERS.kind;
}

/**
 * Maximum length of another budget's selector, in characters of JSON. If smaller, real budgets with many labels would
 * be ignored. If larger, budgets of one tenant could use much memory, and time in each pass.
 */
const MAX_SELECTOR_LENGTH = 4_096;

/** A budget that the operator did not create, reduced to name and selector. Undefined if its selector is too long. */
export function withSelectorAlone({ apiVersion, kind, metadata, spec }: PodDisruptionBudget) {
  const { selector } = spec ?? {};
  if (JSON.stringify(selector ?? {}).length > MAX_SELECTOR_LENGTH) return undefined;
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { namespace, name, uid, resourceVersion },
    spec: { selector },
  } as PodDisruptionBudget;
}

/** A claim, with its status reduced to the phase and the capacity. */
export function withPhaseAndSize({ status, ...claim }: PersistentVolumeClaim): PersistentVolumeClaim {
  if (status?.phase === undefined) return claim;
  const storage = status.capacity?.storage;
  return { ...claim, status: { phase: status.phase, ...(storage === undefined ? {} : { capacity: { storage } }) } };
}

/**
 * A cluster of another shard, reduced to its existence and sleep, for schedules that name it. Until it has formed, its
 * bootstrap is kept, too, for the schedule that owns the bootstrap's backup.
 */
export function ofAnotherShard({ apiVersion, kind, metadata, spec, status }: EtcdCluster): EtcdCluster {
  const { replicas, paused, bootstrap } = spec;
  const { sleep, identity, conditions = [] } = status ?? {};
  const ready = conditions.filter(({ type }) => type === "Ready");
  const kept = status === undefined ? {} : { status: { sleep, identity, conditions: ready } };
  const beginning = bootstrap === undefined || identity !== undefined ? {} : { bootstrap };
  return { apiVersion, kind, metadata, spec: { replicas, paused, ...beginning }, ...kept } as EtcdCluster;
}

/** A pod, reduced to its member, the Secrets that it mounts, and its state. */
export function whatMatters({ apiVersion, kind, metadata, spec, status }: Pod): Pod {
  const volumes = shownSecrets(spec);
  const kept = { hostname: spec?.hostname, ...(volumes.length === 0 ? {} : { volumes }) };
  return {
    apiVersion,
    kind,
    metadata,
    spec: kept,
    ...(status === undefined ? {} : { status: statusOf(status) }),
  } as Pod;
}

type Spec = NonNullable<Pod["spec"]>;
type Status = NonNullable<Pod["status"]>;
type Volume = NonNullable<Spec["volumes"]>[number];

/** The volumes that mount a Secret, reduced to its name. */
function shownSecrets(pod: Pod["spec"]): readonly Volume[] {
  return (pod?.volumes ?? []).flatMap(({ name, projected }) => {
    const secret = projected?.sources?.find((source) => source.secret !== undefined)?.secret;
    return secret?.name === undefined ? [] : [{ name, projected: { sources: [{ secret: { name: secret.name } }] } }];
  });
}

/** Conditions about scheduling and readiness. */
const KEPT_CONDITIONS: readonly string[] = ["PodScheduled", "Ready"];

function statusOf({ phase, podIP, reason, message, conditions, ...containers }: Status): Status {
  const { initContainerStatuses, containerStatuses } = containers;
  return {
    ...(phase === undefined ? {} : { phase }),
    ...(podIP === undefined ? {} : { podIP }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(conditions === undefined
      ? {}
      : { conditions: conditions.filter(({ type }) => KEPT_CONDITIONS.includes(type)) }),
    ...(initContainerStatuses === undefined ? {} : { initContainerStatuses: initContainerStatuses.map(stateOf) }),
    ...(containerStatuses === undefined ? {} : { containerStatuses: containerStatuses.map(stateOf) }),
  };
}

type ContainerStatus = NonNullable<Status["containerStatuses"]>[number];

/** Drops image and resources, which the pod's spec determines. */
function stateOf({ name, ready, restartCount, state, lastState }: ContainerStatus): ContainerStatus {
  return {
    name,
    ready,
    restartCount,
    ...(state === undefined ? {} : { state }),
    ...(lastState === undefined || Object.keys(lastState).length === 0 ? {} : { lastState }),
  } as ContainerStatus;
}
