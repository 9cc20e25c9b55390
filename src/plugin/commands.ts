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
    name: "check",
    what: "whether disks and network are fast enough for etcd",
    arguments: [cluster],
    flags: [
      { name: "for", takes: "text", value: "TIME", what: "how long to measure, such as 1m; default: 10s; at most 1h" },
      output,
    ],
    rights: ["get etcdclusters, list pods, get pods/proxy"],
  },
  {
    name: "version",
    what: "the releases of plugin, operator and API, and whether they fit",
    arguments: [],
    flags: [output],
    rights: ["none", "more: list deployments in all namespaces, or in that of -n"],
  },
  {
    name: "plan",
    what: "what an edit would cause, without making it",
    arguments: [cluster],
    flags: [
      { name: "version", takes: "text", value: "RELEASE", what: "another release of etcd" },
      { name: "replicas", takes: "text", value: "COUNT", what: "another number of members" },
      {
        name: "filename",
        short: "f",
        takes: "text",
        value: "FILE",
        what: "an EtcdCluster; its spec is merged into that of the cluster",
      },
      { name: "timeout", takes: "text", value: "SECONDS", what: "how long to wait for the answer; default: 60" },
      output,
    ],
    rights: ["get and patch etcdclusters"],
  },
  {
    name: "restart",
    what: "restart all members one after another, or one by an eviction",
    arguments: [cluster, { name: "MEMBER", subject: "member", isOptional: true }],
    flags: [],
    rights: ["patch etcdclusters", "with MEMBER: list pods, create pods/eviction"],
  },
  {
    name: "leader",
    what: "move the leader to a healthy voter",
    arguments: [cluster, { name: "MEMBER", subject: "member" }],
    flags: [],
    rights: ["get etcdclusters, list pods, create pods/exec"],
  },
  {
    name: "backup",
    what: "make a backup now, as a schedule of the cluster would",
    arguments: [cluster],
    flags: [{ name: "schedule", takes: "text", value: "NAME", what: "the schedule; default: the first one" }, output],
    rights: ["list etcdbackupschedules, create etcdbackups"],
  },
  {
    name: "restore",
    what: "restore a backup into a new cluster with the spec of this one",
    arguments: [cluster],
    flags: [
      { name: "from", takes: "text", value: "BACKUP", what: "the EtcdBackup" },
      { name: "until", takes: "text", value: "TIME", what: "a time such as 2026-11-22T09:59:00Z, or a revision" },
      { name: "as", takes: "text", value: "NEW", what: "the name of the new EtcdCluster" },
      output,
    ],
    rights: ["get etcdclusters, create etcdrestores"],
  },
  {
    name: "schedule",
    what: "the schedules of a cluster, with their last and next backup",
    arguments: [cluster],
    flags: [output],
    rights: ["list etcdbackupschedules"],
  },
  {
    name: "undelete",
    what: "bring a deleted cluster back from the claims that it left",
    arguments: [{ name: "NAME", subject: "text" }],
    flags: [
      { name: "filename", short: "f", takes: "text", value: "FILE", what: "an EtcdCluster with the spec that it had" },
      { name: "yes", short: "y", takes: "nothing", what: "create it; without it, the manifest is only shown" },
      output,
    ],
    rights: ["get etcdclusters, list persistentvolumeclaims", "with --yes: create etcdclusters"],
  },
  {
    name: "pause",
    what: "let the operator change nothing but certificates",
    arguments: [cluster],
    flags: [],
    rights: ["patch etcdclusters"],
  },
  { name: "resume", what: "end a pause", arguments: [cluster], flags: [], rights: ["get and patch etcdclusters"] },
  {
    name: "shell",
    what: "run etcdctl in the leader's container",
    arguments: [cluster],
    flags: [],
    rights: ["get etcdclusters, list pods, create pods/exec"],
    hasRest: true,
  },
  {
    name: "logs",
    what: "the logs of all members, merged by time",
    arguments: [cluster],
    flags: [
      { name: "follow", short: "f", takes: "nothing", what: "also what is written from now on" },
      { name: "since", takes: "text", value: "TIME", what: "lines of this time, such as 10m; default: 50 a member" },
    ],
    rights: ["list pods, get pods/log"],
  },
  {
    name: "binding",
    what: "how an application connects as an EtcdUser",
    arguments: [{ name: "USER", subject: "user" }],
    flags: [output],
    rights: ["get etcdusers"],
  },
  {
    name: "certificate",
    what: "create an EtcdUser that logs in by a certificate",
    arguments: [cluster, { name: "CN", subject: "text" }],
    flags: [{ name: "roles", takes: "text", value: "ROLES", what: "roles in etcd, with commas between them" }, output],
    rights: ["create etcdusers"],
  },
  {
    name: "report",
    what: "an archive of objects, events and logs, without secrets",
    arguments: [{ name: "NAME", subject: "operator" }],
    flags: [
      { name: "output", short: "o", takes: "text", value: "FILE", what: "the file, such as report.tgz" },
      { name: "list", takes: "nothing", what: "only show what would be in it" },
    ],
    rights: [
      "none: each right that is missing is a line in the report",
      "more: list its objects, get pods/log; for the report of the operator in all namespaces, or in that of -n",
    ],
  },
  {
    name: "completion",
    what: "a script for completion by bash, zsh, fish, powershell, or by kubectl itself",
    arguments: [{ name: "SHELL", subject: "shell" }],
    flags: [],
    rights: ["none", "more: list objects, for their names"],
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
