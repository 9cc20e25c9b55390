import { AGENT_COMMAND, type AgentTask, TASK_VARIABLE } from "#agent/task.ts";
import type { AgentSettings } from "#agent-job/pod-template.ts";
import type { Mounted } from "#agent-job/volumes.ts";
import type { ResourceNeeds } from "#api/v1beta1/backup.ts";
import type { Pod } from "#kube/kinds.ts";

// Containers of pods that handle snapshots, for backups and restores.

export type Container = NonNullable<Pod["spec"]>["containers"][number];

/** Security context of containers that need no privileges. */
const CONFINED = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } };

interface AgentWork extends AgentSettings {
  readonly name: string;
  /** The operator's own image. */
  readonly image: string;
  readonly task: AgentTask;
  readonly volumes: readonly Pick<Mounted, "mount">[];
}

/** A container that runs one task of the agent. */
export function agentContainer({ name, image, task, resources, variables, volumes }: AgentWork): Container {
  return {
    name,
    image,
    imagePullPolicy: "IfNotPresent",
    command: [...AGENT_COMMAND],
    // When the agent writes no report, its last log lines are the termination message.
    terminationMessagePolicy: "FallbackToLogsOnError",
    env: Object.entries({ [TASK_VARIABLE]: JSON.stringify(task), ...variables }).map(([name, value]) => ({
      name,
      value,
    })),
    resources,
    securityContext: CONFINED,
    volumeMounts: volumes.map(({ mount }) => mount),
  } as Container;
}

interface ToolWork {
  readonly name: string;
  /** etcd's image. */
  readonly image: string;
  readonly pullPolicy?: string | undefined;
  /** Arguments of the program. */
  readonly args: readonly string[];
  readonly resources: ResourceNeeds | undefined;
  readonly volumes: readonly Pick<Mounted, "mount">[];
}

/** A container that runs etcdutl from etcd's image: without a shell and without Secrets. */
export function etcdutlContainer(work: ToolWork): Container {
  return toolContainer("etcdutl", work);
}

/** A container that runs etcd from the same image. */
export function etcdContainer(work: ToolWork): Container {
  return toolContainer("etcd", work);
}

function toolContainer(tool: string, { name, image, pullPolicy, args, resources, volumes }: ToolWork): Container {
  return {
    name,
    image,
    imagePullPolicy: pullPolicy ?? "IfNotPresent",
    command: [tool, ...args],
    terminationMessagePolicy: "FallbackToLogsOnError",
    ...(resources === undefined ? {} : { resources }),
    securityContext: CONFINED,
    volumeMounts: volumes.map(({ mount }) => mount),
  } as Container;
}
