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

/** Keeps of a Job the agent's task and its Secrets. Jobs are never compared, and their templates are long. */
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
 * Keeps of a ReplicaSet's template the Secrets that pods mount, because it is compared by the hash in its annotations.
 * Keeps of the status the observed generation and why a pod cannot be created.
 */
export function withSecretsAlone({ apiVersion, kind, metadata, spec, status }: ReplicaSet): ReplicaSet {
  const volumes = shownSecrets(spec?.template?.spec);
  const kept = { replicas: spec?.replicas, ...(volumes.length === 0 ? {} : { template: { spec: { volumes } } }) };
  const { observedGeneration, conditions } = status ?? {};
  const told = { observedGeneration, ...(conditions === undefined ? {} : { conditions }) };
  return { apiVersion, kind, metadata, spec: kept, ...(status === undefined ? {} : { status: told }) } as ReplicaSet;
}

/**
 * Keeps of a budget's status the observed generation and the pods being evicted. The allowed disruptions matter only to
 * drains.
 */
export function withEvictionsAlone({ status, ...budget }: PodDisruptionBudget): PodDisruptionBudget {
  const { observedGeneration, disruptedPods } = status ?? {};
  const told = { observedGeneration, ...(disruptedPods === undefined ? {} : { disruptedPods }) };
  return { ...budget, ...(status === undefined ? {} : { status: told }) } as PodDisruptionBudget;
}

/** Whether the operator has created the budget for a cluster, by its label or its owner. */
export function isOfCluster(budget: PodDisruptionBudget): boolean {
  const { labels = {} } = budget.metadata;
  return labels[MANAGED_BY_LABEL] === OPERATOR || controllerOf(budget)?.kind === ETCD_CLUSTERS.kind;
}

/**
 * Longest selector that is kept of another budget, in characters of JSON. A real one has a few labels. Longer: a tenant's
 * budgets would cost more memory, and more time in every pass of its clusters.
 */
const MAX_SELECTOR_LENGTH = 4_096;

/** Keeps of another budget its name and its selector. One with a longer selector is left out. */
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

/** Keeps of a claim's status whether it is bound, and its capacity. */
export function withPhaseAndSize({ status, ...claim }: PersistentVolumeClaim): PersistentVolumeClaim {
  if (status?.phase === undefined) return claim;
  const storage = status.capacity?.storage;
  return { ...claim, status: { phase: status.phase, ...(storage === undefined ? {} : { capacity: { storage } }) } };
}

/**
 * Keeps of a cluster of another shard its existence and sleep, for schedules that name it. Until it has formed, also
 * its bootstrap, for the schedule that owns the bootstrap's backup.
 */
export function ofAnotherShard({ apiVersion, kind, metadata, spec, status }: EtcdCluster): EtcdCluster {
  const { replicas, paused, bootstrap } = spec;
  const { sleep, identity, conditions = [] } = status ?? {};
  const ready = conditions.filter(({ type }) => type === "Ready");
  const kept = status === undefined ? {} : { status: { sleep, identity, conditions: ready } };
  const beginning = bootstrap === undefined || identity !== undefined ? {} : { bootstrap };
  return { apiVersion, kind, metadata, spec: { replicas, paused, ...beginning }, ...kept } as EtcdCluster;
}

/** Keeps of a pod its member, the Secrets that it mounts, and its state. */
export function whatMatters({ apiVersion, kind, metadata, spec, status }: Pod): Pod {
  const volumes = shownSecrets(spec);
  const kept = { hostname: spec?.hostname, ...(volumes.length === 0 ? {} : { volumes }) };
  return { apiVersion, kind, metadata, spec: kept, ...(status === undefined ? {} : { status: fareOf(status) }) } as Pod;
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
const TELLING: readonly string[] = ["PodScheduled", "Ready"];

function fareOf({ phase, podIP, reason, message, conditions, ...containers }: Status): Status {
  const { initContainerStatuses, containerStatuses } = containers;
  return {
    ...(phase === undefined ? {} : { phase }),
    ...(podIP === undefined ? {} : { podIP }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(conditions === undefined ? {} : { conditions: conditions.filter(({ type }) => TELLING.includes(type)) }),
    ...(initContainerStatuses === undefined ? {} : { initContainerStatuses: initContainerStatuses.map(wordOf) }),
    ...(containerStatuses === undefined ? {} : { containerStatuses: containerStatuses.map(wordOf) }),
  };
}

type ContainerStatus = NonNullable<Status["containerStatuses"]>[number];

/** Drops image and resources, which the pod's spec determines. */
function wordOf({ name, ready, restartCount, state, lastState }: ContainerStatus): ContainerStatus {
  const told = { name, ready, restartCount, ...(state === undefined ? {} : { state }) };
  return {
    ...told,
    ...(lastState === undefined || Object.keys(lastState).length === 0 ? {} : { lastState }),
  } as ContainerStatus;
}
