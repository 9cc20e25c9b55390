import { hostname } from "node:os";
import { parseArgs } from "node:util";
import { millisecondsOf } from "#api/duration.ts";
import { ETCD_REPOSITORY } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { LOG_LEVELS, type LogLevel } from "#base/log.ts";
import { DEFAULT_REQUESTS_PER_SECOND } from "#kube/rate.ts";
import { CLUSTER_LEASE_NAMESPACE, MAX_NAMESPACES, MAX_SHARDS } from "./permissions.ts";

/** The settings from the command line. */
export interface Flags {
  readonly help: boolean;
  readonly kubeconfig: string | undefined;
  /** Namespace of the operator's installation and its own lease. */
  readonly operatorNamespace: string;
  /**
   * Namespace of the lease of the whole Kubernetes cluster. Not a flag: two operators with different values would not
   * notice each other.
   */
  readonly clusterLeaseNamespace: string;
  /** The only namespaces with objects that the operator reads and manages; undefined: all. */
  readonly watchNamespaces: readonly string[] | undefined;
  /** Namespace of the webhooks' certificate and Service. Not a flag: the namespace of the installation. */
  readonly webhookNamespace: string;
  /** Identity of this process in leases, unique among all operators. */
  readonly identity: string;
  readonly imageRepository: string;
  /** The operator's image, which backup pods run; undefined: unknown. */
  readonly agentImage: string | undefined;
  readonly httpPort: number;
  readonly webhookPort: number;
  readonly metricsPort: number;
  /** Whether metrics are served without authorization, at httpPort. */
  readonly insecureMetrics: boolean;
  readonly logLevel: LogLevel;
  /** Into how many shards the clusters are divided among processes; 1: one process leads everything. */
  readonly shards: number;
  /** Concurrent passes, for each controller of each shard that this process leads. */
  readonly workers: number;
  /**
   * Sustained request rate to the API server, for each shard that this process leads. It does not limit requests for
   * leases.
   */
  readonly kubeRequestsPerSecond: number;
  /** How many backups may run at the same time. */
  readonly runningBackups: number;
  /** How long a member may be lost before it is replaced, in milliseconds. */
  readonly replaceAfterMs: number;
  /** How long the first member that an update restarts may take until it is healthy, in milliseconds. */
  readonly memberTimeoutMs: number;
  /** How long applications may take to reload a changed Secret or ConfigMap, in milliseconds. */
  readonly rereadWithinMs: number;
}

/**
 * Five minutes is an estimate: longer than a node takes to reboot. Too small: data is copied needlessly. Too large: a
 * second failure meets a cluster without redundancy.
 */
const REPLACE_AFTER = "5m";

/**
 * Ten minutes is an estimate: pulling an image of etcd takes one minute, opening a database of 8 GiB a few. Too small:
 * an update that would succeed is stopped. Too large: a cluster of three has no redundancy for so long.
 */
const MEMBER_TIMEOUT = "10m";

/**
 * The kubelet updates mounted files within 90 seconds, and an application that reloads its files every minute needs up
 * to 60 more.
 */
const REREAD_WITHIN = "150s";
/**
 * Members get mounted files from the kubelet, too. If the time were shorter, some members could reject the certificates
 * of others.
 */
const LEAST_REREAD = "100s";

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * A pass mostly waits for answers and costs some kilobytes. With this many, a slow cluster does not delay the others.
 */
const WORKERS = 100;

/**
 * Each reads a whole database from a member, and writes it to the store over the network of a node. Too small: nightly
 * backups of a large fleet last until the morning. Too large: nodes, network and store are full of backups.
 */
const RUNNING_BACKUPS = 20;

export const USAGE = `Usage: operator [flags]
       operator self-test --namespace NAME [--timeout DURATION] [--storage-class NAME]
                            makes an EtcdCluster of one member, waits until it is Ready, and deletes it

  --kubeconfig FILE         kubeconfig for the API server; default: the pod's service account, or else ~/.kube/config
  --operator-namespace NAME namespace of the operator and of its lease; default: POD_NAMESPACE, or else etcd-operator-system
  --watch-namespaces NAMES  the only namespaces in which the operator reads and manages objects, with commas between them, at most
                            ${MAX_NAMESPACES} divided by --shards; default: all. It needs its Role in each of them
  --etcd-repository IMAGE   image of etcd, without a tag; default: ${ETCD_REPOSITORY}
  --agent-image IMAGE       the operator's own image, which the pods of backups run; default: OPERATOR_IMAGE
  --http-port PORT          serves /healthz and /readyz; default: 8080; 0 takes any free port
  --metrics-port PORT       serves /metrics over HTTPS to clients that the API server authorizes; default: 8443; 0 takes any free port
  --insecure-metrics        serves /metrics at --http-port instead, in plain text and to every client; for local use
  --webhook-port PORT       serves the webhooks over HTTPS; default: 9443; 0 takes any free port
  --shards N                divides the clusters into N shards, 1 to ${MAX_SHARDS}, and each replica leads some of them. All replicas need the same N:
                            a replica waits for those with another N. More than N replicas only wait. Default: 1, one replica leads everything
  --workers N               concurrent passes per controller, 1 to 1000; with shards, for each shard that is led. Passes that take more than
                            a second do not count, up to three times as many in total. Smaller: hanging passes delay other clusters sooner.
                            Default: ${WORKERS}
  --kube-requests-per-second N
                            mean rate of requests to the API server, 1 to 10000; with shards, for each shard that is led;
                            default: ${DEFAULT_REQUESTS_PER_SECOND}
  --running-backups N       backups that run at the same time, 3 to 10000; others wait, without a time limit. One namespace may use
                            two thirds of them. Archives, verifications and deletions do not wait. Default: ${RUNNING_BACKUPS}
  --replace-after DURATION  how long a member may be lost before it is replaced, 0s to 24h; default: ${REPLACE_AFTER}
  --member-timeout DURATION how long the first restarted member of an update may take to become healthy before it is rolled back,
                            10s to 24h; default: ${MEMBER_TIMEOUT}
  --reread-within DURATION  how long applications may take to reload ca.crt and their certificate, ${LEAST_REREAD} to 24h. It includes up to
                            90s of the kubelet. A CA rotation waits for that time; default: ${REREAD_WITHIN}
  --log-level LEVEL         ${LOG_LEVELS.join(", ")}; default: info
  --help

A DURATION is a number with a unit, or several of them: 90s, 5m, 1h30m. Units are ms, s, m and h.
`;

/**
 * Reads the command line.
 * @throws OperatorError InvalidConfig naming the flag, what it is and what it may be
 */
export function readFlags(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Flags {
  const { values } = parse(args);
  const operatorNamespace = values["operator-namespace"] ?? env.POD_NAMESPACE ?? "etcd-operator-system";
  const shards = wholeNumber("--shards", values.shards, 1, 1, MAX_SHARDS);
  return {
    help: values.help ?? false,
    kubeconfig: values.kubeconfig,
    operatorNamespace,
    clusterLeaseNamespace: CLUSTER_LEASE_NAMESPACE,
    watchNamespaces: fewEnough(namespaces("--watch-namespaces", values["watch-namespaces"]), shards),
    webhookNamespace: operatorNamespace,
    identity: `${hostname()}_${process.pid}_${Math.random().toString(36).slice(2, 10)}`,
    imageRepository: values["etcd-repository"] ?? ETCD_REPOSITORY,
    agentImage: values["agent-image"] ?? env.OPERATOR_IMAGE,
    httpPort: wholeNumber("--http-port", values["http-port"], 8080, 0, 65_535),
    shards,
    workers: wholeNumber("--workers", values.workers, WORKERS, 1, 1_000),
    kubeRequestsPerSecond: wholeNumber(
      "--kube-requests-per-second",
      values["kube-requests-per-second"],
      DEFAULT_REQUESTS_PER_SECOND,
      1,
      10_000,
    ),
    runningBackups: wholeNumber("--running-backups", values["running-backups"], RUNNING_BACKUPS, 3, 10_000),
    replaceAfterMs: duration("--replace-after", values["replace-after"], REPLACE_AFTER, "0s", "24h"),
    metricsPort: wholeNumber("--metrics-port", values["metrics-port"], 8443, 0, 65_535),
    insecureMetrics: values["insecure-metrics"] ?? false,
    webhookPort: wholeNumber("--webhook-port", values["webhook-port"], 9443, 0, 65_535),
    memberTimeoutMs: duration("--member-timeout", values["member-timeout"], MEMBER_TIMEOUT, "10s", "24h"),
    rereadWithinMs: duration("--reread-within", values["reread-within"], REREAD_WITHIN, LEAST_REREAD, "24h"),
    logLevel: oneOf("--log-level", values["log-level"], "info"),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean" },
        kubeconfig: { type: "string" },
        "operator-namespace": { type: "string" },
        "watch-namespaces": { type: "string" },
        "etcd-repository": { type: "string" },
        "agent-image": { type: "string" },
        "http-port": { type: "string" },
        "webhook-port": { type: "string" },
        "metrics-port": { type: "string" },
        "insecure-metrics": { type: "boolean" },
        shards: { type: "string" },
        workers: { type: "string" },
        "kube-requests-per-second": { type: "string" },
        "running-backups": { type: "string" },
        "replace-after": { type: "string" },
        "member-timeout": { type: "string" },
        "reread-within": { type: "string" },
        "log-level": { type: "string" },
      },
    });
  } catch (thrown) {
    throw new OperatorError("InvalidConfig", `${thrown instanceof Error ? thrown.message : thrown}\n\n${USAGE}`, {
      cause: thrown,
    });
  }
}

function wholeNumber(flag: string, text: string | undefined, otherwise: number, min: number, max: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new OperatorError("InvalidConfig", `${flag} is ${text}; it must be a whole number from ${min} to ${max}`);
}

function namespaces(flag: string, text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const names = [...new Set(text.split(","))];
  const wrong = names.find((name) => !NAMESPACE.test(name));
  if (wrong === undefined && names.length <= MAX_NAMESPACES) return names;
  const may = `it must be 1 to ${MAX_NAMESPACES} names of namespaces with commas between them, such as shop,billing`;
  throw new OperatorError(
    "InvalidConfig",
    `${flag} ${wrong === undefined ? `has ${names.length} names` : `has "${wrong}"`}; ${may}`,
  );
}

/** Each shard has watches of its own in each namespace, and one process may lead all shards. */
function fewEnough(names: readonly string[] | undefined, shards: number): readonly string[] | undefined {
  const most = Math.floor(MAX_NAMESPACES / shards);
  if (names === undefined || names.length <= most) return names;
  throw new OperatorError(
    "InvalidConfig",
    `--watch-namespaces has ${names.length} names; with --shards ${shards} it may have at most ${most}: use fewer shards, or leave out --watch-namespaces`,
  );
}

/** Reads a duration as fields of the API write it, in milliseconds. */
function duration(flag: string, text: string | undefined, otherwise: string, min: string, max: string): number {
  const [value, least = 0, most = 0] = [text ?? otherwise, min, max].map(millisecondsOf);
  if (value !== undefined && value >= least && value <= most) return value;
  const may = `a duration from ${min} to ${max}, such as 1m30s`;
  throw new OperatorError("InvalidConfig", `${flag} is ${text}; it must be ${may}`);
}

function oneOf(flag: string, text: string | undefined, otherwise: LogLevel): LogLevel {
  if (text === undefined) return otherwise;
  const level = LOG_LEVELS.find((known) => known === text);
  if (level !== undefined) return level;
  throw new OperatorError("InvalidConfig", `${flag} is ${text}; it must be one of ${LOG_LEVELS.join(", ")}`);
}
