import { AGENT_COMMAND, type AgentTask, TASK_VARIABLE } from "#agent/task.ts";
import type { ResourceNeeds } from "#api/v1beta1/backup.ts";
import type { Mounted } from "#backup/desired/volumes.ts";
import type { Pod } from "#kube/kinds.ts";

// Containers of the pods that handle snapshots, whoever makes them.

export type Container = NonNullable<Pod["spec"]>["containers"][number];

/** What containers run that nobody has to trust with more. */
const CONFINED = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } };

interface AgentWork {
  readonly name: string;
  /** The operator's own. */
  readonly image: string;
  readonly task: AgentTask;
  readonly resources: ResourceNeeds;
  readonly volumes: readonly Pick<Mounted, "mount">[];
}

/** Does one task with the agent. */
export function agentContainer({ name, image, task, resources, volumes }: AgentWork): Container {
  return {
    name,
    image,
    imagePullPolicy: "IfNotPresent",
    command: [...AGENT_COMMAND],
    // An agent that ends without a report has said why in its last log lines.
    terminationMessagePolicy: "FallbackToLogsOnError",
    env: [{ name: TASK_VARIABLE, value: JSON.stringify(task) }],
    resources,
    securityContext: CONFINED,
    volumeMounts: volumes.map(({ mount }) => mount),
  } as Container;
}

interface ToolWork {
  readonly name: string;
  /** That of etcd. */
  readonly image: string;
  readonly pullPolicy?: string | undefined;
  /** As the program has them. */
  readonly args: readonly string[];
  readonly resources: ResourceNeeds | undefined;
  readonly volumes: readonly Pick<Mounted, "mount">[];
}

/** Runs etcdutl, of an image of etcd: no shell, and no Secret is mounted. */
export function etcdutlContainer(work: ToolWork): Container {
  return toolContainer("etcdutl", work);
}

/** Runs etcd, of the same image. */
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
