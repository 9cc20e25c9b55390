import { TASK_VARIABLE } from "#agent/task.ts";
import { AGENT_CONTAINER } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Job, PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet } from "#kube/kinds.ts";

// What of the API server's objects is kept in memory: what somebody here reads, and no more. A member's pod is the largest of all, and nearly
// all of it is what the operator itself has written to its ReplicaSet. What is not kept wakes nobody either: a change of it alone is none
// (kube/store.ts). So what is counted for other people, such as how many pods are available, is left out.

/** A Job is never compared, and its template is long: of it, only what an agent was asked to do, and which Secrets it has for that. */
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
 * The template is compared by its hash, in the annotations: of it, only which Secrets its pods show. Of the status, which wish its controller
 * has seen, and why a pod cannot be created.
 */
export function withSecretsAlone({ apiVersion, kind, metadata, spec, status }: ReplicaSet): ReplicaSet {
  const volumes = shownSecrets(spec?.template?.spec);
  const kept = { replicas: spec?.replicas, ...(volumes.length === 0 ? {} : { template: { spec: { volumes } } }) };
  const { observedGeneration, conditions } = status ?? {};
  const told = { observedGeneration, ...(conditions === undefined ? {} : { conditions }) };
  return { apiVersion, kind, metadata, spec: kept, ...(status === undefined ? {} : { status: told }) } as ReplicaSet;
}

/** Of the status, which wish its controller has seen, and who is about to be evicted: how many may go is for those who drain nodes. */
export function withEvictionsAlone({ status, ...budget }: PodDisruptionBudget): PodDisruptionBudget {
  const { observedGeneration, disruptedPods } = status ?? {};
  const told = { observedGeneration, ...(disruptedPods === undefined ? {} : { disruptedPods }) };
  return { ...budget, ...(status === undefined ? {} : { status: told }) } as PodDisruptionBudget;
}

/** Of the status, whether it is bound. */
export function withPhaseAlone({ status, ...claim }: PersistentVolumeClaim): PersistentVolumeClaim {
  return status?.phase === undefined ? claim : { ...claim, status: { phase: status.phase } };
}

/**
 * Of a cluster about which another process decides: that it is there, and whether it sleeps, for schedules that name it; and as long as it has not begun, with what
 * it is to, for the schedule whose backup that is.
 */
export function ofAnotherShard({ apiVersion, kind, metadata, spec, status }: EtcdCluster): EtcdCluster {
  const { replicas, paused, bootstrap } = spec;
  const { sleep, identity, conditions = [] } = status ?? {};
  const ready = conditions.filter(({ type }) => type === "Ready");
  const kept = status === undefined ? {} : { status: { sleep, identity, conditions: ready } };
  const beginning = bootstrap === undefined || identity !== undefined ? {} : { bootstrap };
  return { apiVersion, kind, metadata, spec: { replicas, paused, ...beginning }, ...kept } as EtcdCluster;
}

/** Which member it is, what it shows, and how it fares. */
export function whatMatters({ apiVersion, kind, metadata, spec, status }: Pod): Pod {
  const volumes = shownSecrets(spec);
  const kept = { hostname: spec?.hostname, ...(volumes.length === 0 ? {} : { volumes }) };
  return { apiVersion, kind, metadata, spec: kept, ...(status === undefined ? {} : { status: fareOf(status) }) } as Pod;
}

type Spec = NonNullable<Pod["spec"]>;
type Status = NonNullable<Pod["status"]>;
type Volume = NonNullable<Spec["volumes"]>[number];

/** Of the pod's volumes only those that show a Secret, and only its name. */
function shownSecrets(pod: Pod["spec"]): readonly Volume[] {
  return (pod?.volumes ?? []).flatMap(({ name, projected }) => {
    const secret = projected?.sources?.find((source) => source.secret !== undefined)?.secret;
    return secret?.name === undefined ? [] : [{ name, projected: { sources: [{ secret: { name: secret.name } }] } }];
  });
}

/** Conditions that tell whether it has a node, and whether it is ready. */
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

/** Which image runs, and with which resources, is what was asked for. */
function wordOf({ name, ready, restartCount, state, lastState }: ContainerStatus): ContainerStatus {
  const told = { name, ready, restartCount, ...(state === undefined ? {} : { state }) };
  return {
    ...told,
    ...(lastState === undefined || Object.keys(lastState).length === 0 ? {} : { lastState }),
  } as ContainerStatus;
}
