import { hostname } from "node:os";
import { parseArgs } from "node:util";
import { ETCD_REPOSITORY } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { LOG_LEVELS, type LogLevel } from "#base/log.ts";
import { DEFAULT_REQUESTS_PER_SECOND } from "#kube/rate.ts";
import { CLUSTER_LEASE_NAMESPACE, MAX_SHARDS } from "./permissions.ts";

/** What the command line told the process. */
export interface Flags {
  readonly help: boolean;
  readonly kubeconfig: string | undefined;
  /** Where the operator is installed: its own lease lies there. */
  readonly namespace: string;
  /** Where the lease of the whole Kubernetes cluster lies. It is no flag: two that differ would not notice each other. */
  readonly clusterLeaseNamespace: string;
  /** Where the certificate of the webhooks lies, and the Service that leads to them. It is no flag: where the operator is installed. */
  readonly webhookNamespace: string;
  /** Who we are in the lease: unique among all operators. */
  readonly identity: string;
  readonly imageRepository: string;
  /** The operator's own image, which the pods of backups run; undefined: it does not know. */
  readonly agentImage: string | undefined;
  readonly httpPort: number;
  readonly webhookPort: number;
  readonly metricsPort: number;
  /** Whether everybody may read metrics, at httpPort. */
  readonly insecureMetrics: boolean;
  readonly logLevel: LogLevel;
  /** Into how many shards the clusters are divided among processes; 1: one process leads everything. */
  readonly shards: number;
  /** Passes side by side, for each controller of each shard that is led. */
  readonly workers: number;
  /** Requests to the API server in the long run, for each shard that is led; leases are not held up by it. */
  readonly kubeRequestsPerSecond: number;
  /** How long a member may be lost before it is replaced, in milliseconds. */
  readonly replaceAfterMs: number;
  /** How long the first member that an update restarts may take until it is healthy, in milliseconds. */
  readonly memberTimeoutMs: number;
  /** How long it may take until whoever mounts a Secret, or a ConfigMap, has read it anew when it has changed, in milliseconds. */
  readonly rereadWithinMs: number;
}

/**
 * Five minutes is a guess: longer than a node takes to reboot. Too small: data is copied for nothing. Too large: a second
 * failure finds the cluster without a spare.
 */
const REPLACE_AFTER_SECONDS = 300;

/**
 * Ten minutes is a guess: an image of etcd is pulled in one, and a database of 8 GiB is opened in a few. Too small: an update is stopped that
 * would have gone well. Too large: a cluster of three is without a spare member for so long.
 */
const MEMBER_TIMEOUT_SECONDS = 600;

/**
 * The kubelet looks at each pod once in a minute and a half at the latest, and who reads its files once in a minute has them a minute later.
 * https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod
 */
const REREAD_WITHIN_SECONDS = 150;
/** Members have it from the kubelet, too: shorter, some would be trusted no more by others. */
const LEAST_REREAD_SECONDS = 100;

/** A pass mostly waits for answers, which costs some kilobytes. With so many, a slow cluster holds up none of the others. */
const WORKERS = 100;

export const USAGE = `Usage: operator [flags]

  --kubeconfig FILE         reach the cluster by this file; without it: the pod's service account, or ~/.kube/config
  --namespace NAME          where the operator is installed, and its own lease lies; default: POD_NAMESPACE, or etcd-operator-system
  --etcd-repository IMAGE   etcd's image without tag; default: ${ETCD_REPOSITORY}
  --agent-image IMAGE       the operator's own image, which the pods of backups run; default: OPERATOR_IMAGE
  --http-port PORT          /healthz and /readyz; default: 8080; 0 takes a free one
  --metrics-port PORT       /metrics, over HTTPS, to who may read it by the word of the API server; default: 8443; 0 takes a free one
  --insecure-metrics        /metrics at --http-port instead, in plain text and to everybody; for local use
  --webhook-port PORT       what the API server asks before it stores an EtcdCluster, over HTTPS; default: 9443; 0 takes a free one
  --shards N                divides the clusters into N parts, 1 to ${MAX_SHARDS}, of which each replica leads some: the same N for all of them, which wait
                            for those that run with another one; more replicas than N only wait; default: 1, one replica leads everything
  --workers N               passes side by side per controller, and with shards for each that is led, 1 to 1000; those aside that take more
                            than a second, with which there are up to three times as many; fewer of them let those that hang hold up the others;
                            default: ${WORKERS}
  --kube-requests-per-second N
                            requests to the API server in the long run, with shards for each that is led, 1 to 10000; default: ${DEFAULT_REQUESTS_PER_SECOND}
  --replace-after SECONDS   how long a member may be lost before it is replaced, 0 to 86400; default: ${REPLACE_AFTER_SECONDS}
  --member-timeout SECONDS  how long the first member that an update restarts may take until it is healthy, before it is put back, 10 to 86400;
                            default: ${MEMBER_TIMEOUT_SECONDS}
  --reread-within SECONDS   how long applications may take to read ca.crt and their certificate anew when these change, the minute and a half
                            of the kubelet included, ${LEAST_REREAD_SECONDS} to 86400: so long a rotation of an authority waits for them; default: ${REREAD_WITHIN_SECONDS}
  --log-level LEVEL         ${LOG_LEVELS.join(", ")}; default: info
  --help
`;

/**
 * Reads the command line.
 * @throws OperatorError InvalidConfig naming the flag, what it is and what it may be
 */
export function readFlags(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Flags {
  const { values } = parse(args);
  const namespace = values.namespace ?? env.POD_NAMESPACE ?? "etcd-operator-system";
  return {
    help: values.help ?? false,
    kubeconfig: values.kubeconfig,
    namespace,
    clusterLeaseNamespace: CLUSTER_LEASE_NAMESPACE,
    webhookNamespace: namespace,
    identity: `${hostname()}_${process.pid}_${Math.random().toString(36).slice(2, 10)}`,
    imageRepository: values["etcd-repository"] ?? ETCD_REPOSITORY,
    agentImage: values["agent-image"] ?? env.OPERATOR_IMAGE,
    httpPort: wholeNumber("--http-port", values["http-port"], 8080, 0, 65_535),
    shards: wholeNumber("--shards", values.shards, 1, 1, MAX_SHARDS),
    workers: wholeNumber("--workers", values.workers, WORKERS, 1, 1_000),
    kubeRequestsPerSecond: wholeNumber(
      "--kube-requests-per-second",
      values["kube-requests-per-second"],
      DEFAULT_REQUESTS_PER_SECOND,
      1,
      10_000,
    ),
    replaceAfterMs: 1_000 * wholeNumber("--replace-after", values["replace-after"], REPLACE_AFTER_SECONDS, 0, 86_400),
    metricsPort: wholeNumber("--metrics-port", values["metrics-port"], 8443, 0, 65_535),
    insecureMetrics: values["insecure-metrics"] ?? false,
    webhookPort: wholeNumber("--webhook-port", values["webhook-port"], 9443, 0, 65_535),
    memberTimeoutMs:
      1_000 * wholeNumber("--member-timeout", values["member-timeout"], MEMBER_TIMEOUT_SECONDS, 10, 86_400),
    rereadWithinMs:
      1_000 *
      wholeNumber("--reread-within", values["reread-within"], REREAD_WITHIN_SECONDS, LEAST_REREAD_SECONDS, 86_400),
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
        namespace: { type: "string" },
        "etcd-repository": { type: "string" },
        "agent-image": { type: "string" },
        "http-port": { type: "string" },
        "webhook-port": { type: "string" },
        "metrics-port": { type: "string" },
        "insecure-metrics": { type: "boolean" },
        shards: { type: "string" },
        workers: { type: "string" },
        "kube-requests-per-second": { type: "string" },
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

function oneOf(flag: string, text: string | undefined, otherwise: LogLevel): LogLevel {
  if (text === undefined) return otherwise;
  const level = LOG_LEVELS.find((known) => known === text);
  if (level !== undefined) return level;
  throw new OperatorError("InvalidConfig", `${flag} is ${text}; it must be one of ${LOG_LEVELS.join(", ")}`);
}
