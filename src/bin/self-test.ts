import { parseArgs } from "node:util";
import { millisecondsOf } from "#api/duration.ts";
import { GROUP } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, PERSISTENT_VOLUME_CLAIMS } from "#kube/kinds.ts";

// `operator self-test`, which the Helm chart runs for `helm test`: makes an EtcdCluster of one member, waits until it is
// Ready, and deletes it with its claim. It needs no right to any other name.

/** Name of the EtcdCluster. Fixed, so that a Role can name it. */
export const SELF_TEST_CLUSTER = "etcd-operator-self-test";
/** Claim of its only member. A claim outlives its cluster. */
export const SELF_TEST_CLAIM = `${SELF_TEST_CLUSTER}-0`;
/** Release of etcd that the member runs; the documents name the same. */
const VERSION = "3.6.16";
/** Time between two reads, in milliseconds. */
const READ_EVERY_MS = 1_000;
/** Time for the deletion, in milliseconds: the member stops, and Kubernetes deletes what belongs to the cluster. */
const DELETED_WITHIN_MS = 90_000;

export interface SelfTestFlags {
  readonly namespace: string;
  readonly timeoutMs: number;
  /** Undefined: the default class of the Kubernetes cluster. */
  readonly storageClass: string | undefined;
}

/** Reads the flags after `self-test`. @throws OperatorError InvalidConfig naming the flag and what it may be */
export function readSelfTestFlags(args: readonly string[]): SelfTestFlags {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ args: [...args], options: { namespace: text, timeout: text, "storage-class": text } });
  const timeoutMs = millisecondsOf(values.timeout ?? "5m");
  if (values.namespace === undefined || values.namespace === "")
    throw new OperatorError("InvalidConfig", "--namespace is missing; it must be the namespace for the test's cluster");
  if (timeoutMs === undefined)
    throw new OperatorError("InvalidConfig", `--timeout is ${values.timeout}; it must be a duration such as 5m`);
  return { namespace: values.namespace, timeoutMs, storageClass: values["storage-class"] || undefined };
}

interface Tools {
  readonly kube: Pick<KubeClient, "create" | "find" | "delete">;
  readonly clock: Clock;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Runs the test. The cluster is also deleted when the test fails.
 * @throws OperatorError when the cluster does not become Ready, or is not deleted in time
 */
export async function selfTest(tools: Tools, flags: SelfTestFlags): Promise<void> {
  const { kube, print, signal } = tools;
  try {
    await kube.create(ETCD_CLUSTERS, clusterOf(flags), { signal });
  } catch (thrown) {
    if (!hasCode(thrown, "KubeAlreadyExists")) throw thrown;
    throw new OperatorError(
      "InvalidConfig",
      `EtcdCluster ${flags.namespace}/${SELF_TEST_CLUSTER} exists already; delete it, then test again`,
    );
  }
  print(`EtcdCluster ${flags.namespace}/${SELF_TEST_CLUSTER} is created.`);
  try {
    await untilReady(tools, flags);
    print("It is Ready.");
  } finally {
    await deleteAll(tools, flags);
    print("It is deleted, and its claim, too.");
  }
}

function clusterOf({ namespace, storageClass }: SelfTestFlags): Draft<EtcdCluster> {
  const storage = storageClass === undefined ? {} : { storage: { storageClassName: storageClass } };
  // Without TLS: the operator may lack the right to Secrets in this namespace, and no Secret is left behind.
  const tls = { peer: { provider: "None" }, client: { provider: "None" } };
  return {
    apiVersion: `${GROUP}/v1beta1`,
    kind: "EtcdCluster",
    metadata: { namespace, name: SELF_TEST_CLUSTER },
    spec: { replicas: 1, version: VERSION, tls, ...storage },
  } as unknown as Draft<EtcdCluster>;
}

async function untilReady({ kube, clock, signal }: Tools, { namespace, timeoutMs }: SelfTestFlags): Promise<void> {
  const untilMs = clock.monotonicMs() + timeoutMs;
  for (let last = "the operator has written no status"; ; ) {
    const found = await kube.find(ETCD_CLUSTERS, { namespace, name: SELF_TEST_CLUSTER }, { signal });
    if (found.is === "absent") throw new OperatorError("KubeNotFound", "the EtcdCluster was deleted during the test");
    const ready =
      found.is === "present" ? found.value.status?.conditions?.find(({ type }) => type === "Ready") : undefined;
    if (ready?.status === "True") return;
    if (ready?.message !== undefined) last = ready.message;
    if (clock.monotonicMs() >= untilMs)
      throw new OperatorError("KubeUnavailable", `the EtcdCluster is not Ready after ${timeoutMs / 1_000} s: ${last}`);
    await clock.sleep(READ_EVERY_MS, signal);
  }
}

/** Deletes cluster and claim, also when the test was aborted: the pod of the test may be evicted. */
async function deleteAll({ kube, clock }: Tools, { namespace }: SelfTestFlags): Promise<void> {
  const { signal } = new AbortController(); // Each request has its deadline, and the loop below its own.
  const untilMs = clock.monotonicMs() + DELETED_WITHIN_MS;
  // The claim last: while the member exists, the operator would create it again.
  for (const [kind, name] of [
    [ETCD_CLUSTERS, SELF_TEST_CLUSTER],
    [PERSISTENT_VOLUME_CLAIMS, SELF_TEST_CLAIM],
  ] as const) {
    for (;;) {
      const found = await kube.find<EtcdCluster>(kind as typeof ETCD_CLUSTERS, { namespace, name }, { signal });
      if (found.is === "absent") break;
      const { uid, deletionTimestamp } = found.is === "present" ? found.value.metadata : {};
      if (uid !== undefined && deletionTimestamp === undefined)
        await kube.delete(kind, { namespace, name }, { signal, preconditions: { uid }, propagation: "Foreground" });
      if (clock.monotonicMs() >= untilMs)
        throw new OperatorError("KubeUnavailable", `${kind.kind} ${namespace}/${name} was not deleted in time`);
      await clock.sleep(READ_EVERY_MS, signal);
    }
  }
}
