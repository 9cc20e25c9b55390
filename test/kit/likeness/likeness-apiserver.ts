import { DEFAULT_STORAGE, DEFAULT_VERSION } from "#api/common-schema.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { DEFAULT_STORAGE_SPEC } from "#api/v1beta1/storage-schema.ts";
import { NAMESPACES, type Namespace } from "#kit/tables/kinds.ts";
import type { KubeClient, WatchEvent, WatchQuery } from "#kube/client.ts";
import {
  type AnyResource,
  apiVersionOf,
  type Draft,
  type KubeObject,
  type ObjectMeta,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  REPLICA_SETS,
  type ReplicaSet,
  SERVICES,
  type Service,
} from "#kube/kinds.ts";
import { Diary, quietWorld, type Show } from "./likeness.ts";

// How much of an object is compared? All of our own kinds. Metadata only of other kinds, since Kubernetes adds far more
// fields than the operator reads. Left out everywhere:
// - managedFields: the operator only reads when a Secret was last written.
// - deletionGracePeriodSeconds: the operator only reads whether an object is being deleted.
// - generation of other kinds: the operator reads generations of its own kinds only.

const OPTIONS = { signal: new AbortController().signal };

/** A real or simulated API server. */
export interface ApiSide {
  readonly kube: KubeClient;
  readonly namespace: string;
  readonly diary: Diary;
  /**
   * Events of a watch up to the event about the object of this name, after which all earlier events are known to be
   * delivered.
   */
  events(
    resource: AnyResource,
    query: Omit<WatchQuery, "timeoutSeconds" | "namespace">,
    upTo: string,
  ): Promise<unknown>;
}

/** A new namespace on a real API server. */
export async function realApi(kube: KubeClient, namespace: string): Promise<ApiSide> {
  await kube.create(
    NAMESPACES,
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } } as Draft<Namespace>,
    OPTIONS,
  );
  return {
    kube,
    namespace,
    diary: new Diary(shown()),
    events: (resource, query, upTo) => told(watching(kube, resource, { ...query, namespace }), upTo, () => undefined),
  };
}

/** A new simulated API server. */
export async function simulatedApi(namespace: string): Promise<ApiSide> {
  const { kube, world } = await quietWorld();
  return {
    kube,
    namespace,
    diary: new Diary(shown()),
    events: (resource, query, upTo) => {
      const others = new Set(world.watches.streams);
      return told(watching(kube, resource, { ...query, namespace }), upTo, () => {
        for (const stream of world.watches.streams) if (!others.has(stream)) stream.deliver(Number.MAX_SAFE_INTEGER);
      });
    },
  };
}

function watching(kube: KubeClient, resource: AnyResource, query: Omit<WatchQuery, "timeoutSeconds">) {
  return kube.watch(resource, { ...query, timeoutSeconds: 60 }, OPTIONS);
}

/**
 * Reads a watch up to the event about `upTo`.
 * @param deliver lets the server send its pending events
 */
async function told(
  watch: AsyncGenerator<WatchEvent<KubeObject>, void, undefined>,
  upTo: string,
  deliver: () => void,
): Promise<unknown> {
  const events: WatchEvent<KubeObject>[] = [];
  for (;;) {
    const next = watch.next();
    deliver();
    const { value: event } = await next;
    if (event === undefined) throw new Error(`the watch ended before the event about ${upTo}`);
    if (event.type === "BOOKMARK") continue; // the server decides when to send them
    events.push(event);
    if (event.object.metadata.name !== upTo) continue;
    void watch.return();
    return events;
  }
}

/**
 * Answers without differences between any two API servers: a uid or version is named after the first line that contains
 * it.
 */
function shown(): Show {
  const names = new Map<string, string>();
  const nameOf = (id: string, name: string) => {
    if (!names.has(id)) names.set(id, name);
    return names.get(id);
  };
  const show = (answer: unknown, line: string): unknown => {
    if (Array.isArray(answer)) return answer.map((part, index) => show(part, `${line}, ${index}`));
    if (typeof answer !== "object" || answer === null) return answer;
    if ("items" in answer) return show(answer.items, line);
    if (!("metadata" in answer))
      return Object.fromEntries(Object.entries(answer).map(([key, part]) => [key, show(part, line)]));
    const object = answer as KubeObject & { spec?: unknown; status?: unknown };
    const { generation, resourceVersion, uid, ...rest } = object.metadata;
    const {
      managedFields: _,
      deletionGracePeriodSeconds: __,
      ...metadata
    } = rest as typeof rest & { managedFields?: unknown };
    const isOurs = object.kind === ETCD_PEERS.kind || object.kind === ETCD_CLUSTERS.kind;
    return {
      kind: object.kind,
      metadata: {
        ...metadata,
        ...when("creationTimestamp", metadata),
        ...when("deletionTimestamp", metadata),
        uid: nameOf(uid, `first in: ${line}`),
        resourceVersion: nameOf(resourceVersion, `first in: ${line}`),
        ...(isOurs ? { generation } : {}),
      },
      ...(isOurs ? { spec: object.spec, status: object.status } : {}),
    };
  };
  return show;
}

/** Whether a time is set, not which time. */
function when(field: "creationTimestamp" | "deletionTimestamp", metadata: Partial<ObjectMeta>): object {
  return metadata[field] === undefined
    ? {}
    : { [field]: Number.isNaN(Date.parse(metadata[field])) ? "no time" : "a time" };
}

export function headOf(resource: AnyResource, namespace: string, name: string, metadata: Partial<ObjectMeta> = {}) {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: { ...metadata, namespace, name } };
}

export function peer(namespace: string, name: string, metadata: Partial<ObjectMeta> = {}): Draft<EtcdPeer> {
  return {
    ...headOf(ETCD_PEERS, namespace, name, metadata),
    spec: {
      clusterName: "story",
      version: DEFAULT_VERSION,
      bootstrap: {
        initialClusterState: "New",
        clusterToken: "token",
        static: { initialCluster: [{ name, host: `${name}.story` }] },
      },
      storage: DEFAULT_STORAGE_SPEC,
      podTemplate: {},
    },
  } as unknown as Draft<EtcdPeer>;
}

export function clusterOf(namespace: string, name: string): Draft<EtcdCluster> {
  return {
    ...headOf(ETCD_CLUSTERS, namespace, name),
    spec: { replicas: 3, version: DEFAULT_VERSION, storage: DEFAULT_STORAGE_SPEC, podTemplate: {} },
  } as unknown as Draft<EtcdCluster>;
}

export function claim(
  namespace: string,
  name: string,
  metadata: Partial<ObjectMeta> = {},
): Draft<PersistentVolumeClaim> {
  return {
    ...headOf(PERSISTENT_VOLUME_CLAIMS, namespace, name, metadata),
    spec: {
      accessModes: ["ReadWriteOnce"],
      volumeMode: "Filesystem",
      resources: { requests: { storage: DEFAULT_STORAGE } },
    },
  } as unknown as Draft<PersistentVolumeClaim>;
}

export function pod(namespace: string, name: string, nodeName?: string): Draft<Pod> {
  const containers = [{ name: "etcd", image: "example.test/etcd" }];
  return {
    ...headOf(PODS, namespace, name, { labels: { of: "story" } }),
    spec: { containers, ...(nodeName === undefined ? {} : { nodeName }) },
  } as unknown as Draft<Pod>;
}

export const PORT = { name: "client", port: 2379, targetPort: 2379, protocol: "TCP" } as const;

export function service(namespace: string, name: string, spec: NonNullable<Service["spec"]>): Draft<Service> {
  return { ...headOf(SERVICES, namespace, name), spec: { ports: [PORT], ...spec } } as Draft<Service>;
}

export function replicaSet(namespace: string, name: string): Draft<ReplicaSet> {
  const labels = { of: "story" };
  const { spec } = pod(namespace, name);
  return {
    ...headOf(REPLICA_SETS, namespace, name, { labels }),
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  } as unknown as Draft<ReplicaSet>;
}
