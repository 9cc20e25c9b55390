// The commands as data: help, completion, parsing and the page about rights are made from this table.

/** What the name after the command stands for; completion offers the names of these objects. */
type Subject = "cluster" | "member" | "user" | "backup" | "shell" | "operator" | "text";

interface Argument {
  readonly name: string;
  readonly subject: Subject;
  readonly isOptional?: boolean;
}

export interface Flag {
  readonly name: string;
  readonly short?: string;
  readonly takes: "nothing" | "text";
  /** The value in the help, such as FILE. */
  readonly value?: string;
  readonly what: string;
  /** The possible values, if they are few. */
  readonly oneOf?: readonly string[];
}

export interface Command {
  readonly name: string;
  readonly what: string;
  readonly arguments: readonly Argument[];
  readonly flags: readonly Flag[];
  /** Rights in the cluster's namespace, such as `get etcdclusters`. The first line is needed, the others add to it. */
  readonly rights: readonly string[];
  /** Whether everything after `--` is a command line of its own. */
  readonly hasRest?: boolean;
}

export const OUTPUTS = ["json", "yaml", "wide"] as const;
export type Output = (typeof OUTPUTS)[number];

/** Flags of every command. */
export const COMMON_FLAGS: readonly Flag[] = [
  {
    name: "namespace",
    short: "n",
    takes: "text",
    value: "NAMESPACE",
    what: "the namespace; default: that of the context",
  },
  { name: "context", takes: "text", value: "CONTEXT", what: "the context of the kubeconfig" },
  { name: "kubeconfig", takes: "text", value: "FILE", what: "the kubeconfig; default: KUBECONFIG or ~/.kube/config" },
  { name: "no-color", takes: "nothing", what: "no colours, as without a terminal or with NO_COLOR" },
  { name: "help", short: "h", takes: "nothing", what: "the help of the command" },
];

const output: Flag = {
  name: "output",
  short: "o",
  takes: "text",
  value: OUTPUTS.join("|"),
  oneOf: OUTPUTS,
  what: "another form",
};
const watch: Flag = { name: "watch", short: "w", takes: "nothing", what: "again every two seconds, until Ctrl-C" };
const cluster: Argument = { name: "NAME", subject: "cluster" };

export const COMMANDS: readonly Command[] = [
  {
    name: "list",
    what: "one line for each cluster, the worst first",
    arguments: [],
    flags: [
      { name: "all-namespaces", short: "A", takes: "nothing", what: "the clusters of all namespaces" },
      { name: "orphans", takes: "nothing", what: "claims with data that no cluster uses" },
      output,
      watch,
    ],
    rights: ["list etcdclusters", "with --orphans: list persistentvolumeclaims"],
  },
  {
    name: "status",
    what: "the state of a cluster on one screen",
    arguments: [cluster],
    flags: [output, watch],
    rights: [
      "get etcdclusters",
      "more: list etcdpeers, etcdbackupschedules, etcdusers and events",
      "with -o wide: list pods",
    ],
  },
  {
    name: "why",
    what: "why a cluster is as it is: rule, evidence, meaning",
    arguments: [cluster],
    flags: [output],
    rights: ["get etcdclusters", "more: list events"],
  },
  {
    name: "version",
    what: "the releases of plugin, operator and API, and whether they fit",
    arguments: [],
    flags: [output],
    rights: ["none", "more: list deployments in the operator's namespace"],
  },
];

export function commandOf(name: string): Command | undefined {
  return COMMANDS.find((each) => each.name === name);
}

/** `list [flags]`, `restart NAME [MEMBER] [flags]`. */
export function usageOf({ name, arguments: args, flags, hasRest }: Command): string {
  const names = args.map((each) => (each.isOptional === true ? `[${each.name}]` : each.name));
  return [name, ...names, ...(flags.length > 0 ? ["[flags]"] : []), ...(hasRest ? ["[-- COMMAND…]"] : [])].join(" ");
}
