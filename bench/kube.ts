import type { IDeployment, IStatefulSet } from "kubernetes-models/apps/v1";
import type { IServiceAccount } from "kubernetes-models/v1";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { NO_TLS } from "#api/tls.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { hasCode } from "#base/error.ts";
import { NAMESPACES, PERSISTENT_VOLUMES } from "#kit/tables/kinds.ts";
import { KubeClient } from "#kube/client.ts";
import { defaultConfig } from "#kube/config.ts";
import {
  type Draft,
  type KubeObject,
  type NamespacedMeta,
  PODS,
  type Ref,
  type Resource,
  resource,
} from "#kube/kinds.ts";
import { until } from "./until.ts";

export const OPTIONS = { signal: new AbortController().signal, deadlineMs: 30_000 };

type Read<T> = Omit<T, "metadata" | "apiVersion" | "kind"> & KubeObject & { readonly metadata: NamespacedMeta };
export type StatefulSet = Read<IStatefulSet>;
export type Deployment = Read<IDeployment>;

const apps = { group: "apps", version: "v1", namespaced: true };
export const STATEFUL_SETS = resource<StatefulSet>({ ...apps, kind: "StatefulSet", plural: "statefulsets" });
export const DEPLOYMENTS = resource<Deployment>({ ...apps, kind: "Deployment", plural: "deployments" });
const SERVICE_ACCOUNTS = resource<Read<IServiceAccount>>({
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
});

/** A client of the cluster that KUBECONFIG names, with a rate limit that it never reaches. */
export async function benchClient(): Promise<KubeClient> {
  return new KubeClient({ config: await defaultConfig(), userAgent: "bench", limits: { qps: 1_000, burst: 1_000 } });
}

/** Creates a namespace, and waits until pods can be created in it: the controller manager makes its service account. */
export async function createNamespace(kube: KubeClient, name: string): Promise<void> {
  await kube.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name } }, OPTIONS);
  await until(`namespace ${name} has its service account`, () =>
    found(kube, SERVICE_ACCOUNTS, { namespace: name, name: "default" }),
  );
}

/** Deletes a namespace with everything in it, and waits until its pods and volumes are gone too. */
export async function removeNamespace(kube: KubeClient, name: string): Promise<void> {
  // Owners first: the namespace controller deletes in any order, and the operator would make missing objects again.
  for (const kind of [ETCD_CLUSTERS, STATEFUL_SETS] as Resource<KubeObject>[]) {
    const { items } = await kube.list(kind, { namespace: name }, OPTIONS);
    for (const { metadata } of items) await remove(kube, kind, metadata);
  }
  await until(
    `no pods in namespace ${name}`,
    async () => (await kube.list(PODS, { namespace: name }, OPTIONS)).items.length === 0 || undefined,
    { everyMs: 200 },
  );
  const namespace = await kube.get(NAMESPACES, { name }, OPTIONS);
  await remove(kube, NAMESPACES, namespace.metadata);
  await until(
    `namespace ${name} is gone`,
    async () => ((await found(kube, NAMESPACES, { name })) === undefined ? true : undefined),
    { everyMs: 200 },
  );
  await until(
    `the volumes of namespace ${name} are gone`,
    async () => {
      const { items } = await kube.list(PERSISTENT_VOLUMES, {}, OPTIONS);
      return items.every(({ spec }) => spec?.claimRef?.namespace !== name) || undefined;
    },
    { everyMs: 200 },
  );
}

async function remove(kube: KubeClient, kind: Resource<KubeObject>, object: Ref & { uid: string }): Promise<void> {
  await kube.delete(kind, object, { ...OPTIONS, preconditions: { uid: object.uid } }).catch((thrown: unknown) => {
    if (!hasCode(thrown, "KubeNotFound", "KubeConflict")) throw thrown; // another client has deleted it already
  });
}

export async function found<T extends KubeObject>(
  kube: KubeClient,
  kind: Resource<T>,
  ref: Ref,
): Promise<T | undefined> {
  const seen = await kube.find(kind, ref, OPTIONS);
  if (seen.is === "unknown") throw new Error(seen.why);
  return seen.is === "present" ? seen.value : undefined;
}

/** @param replicas 1 to 7 @param tls `Default`: the operator's default for new clusters */
export function etcdCluster(
  namespace: string,
  name: string,
  replicas: number,
  tls: "None" | "Default" = "None",
): Draft<EtcdCluster> {
  return {
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdCluster",
    metadata: { namespace, name },
    spec: clusterSpecSchema.parse({
      replicas,
      version: DEFAULT_VERSION,
      ...(tls === "Default" ? {} : { tls: NO_TLS }),
    }),
  };
}

/** Waits until the cluster's condition Ready is True. */
export async function readyCluster(kube: KubeClient, ref: Ref): Promise<void> {
  await until(
    `EtcdCluster ${ref.namespace}/${ref.name} is ready`,
    async () => {
      const cluster = await found(kube, ETCD_CLUSTERS, ref);
      return isReady(cluster) || undefined;
    },
    { everyMs: 200 },
  );
}

export function isReady(cluster: EtcdCluster | undefined): boolean {
  return cluster?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}
