import type { EtcdCluster, MemberStatus } from "#api/v1beta1/cluster.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { MemberList } from "#etcd/types.ts";
import type { KubeObject, Pod } from "#kube/kinds.ts";
import { begin } from "./begin.ts";
import { calm, cluster } from "./cluster.ts";

/** A cluster at rest: its status is up to date, and every pod has an address. */
export const WHOLE = begin(cluster()).apply(calm).apply(withAddresses).snapshot;
export const IDENTITY = WHOLE.cluster.status!.identity!;
/** IDs of its members. */
export const IDS = IDENTITY.initialMembers.map(({ id }) => id);
export const NAMES = IDENTITY.initialMembers.map(({ name }) => name);
export const LIST = listOf(WHOLE);

export function withAddresses(snapshot: ClusterSnapshot): ClusterSnapshot {
  const pods = [...snapshot.pods].map(
    ([name, pod], n) => [name, { ...pod, status: { ...pod.status, podIP: `10.0.0.${n}` } }] as const,
  );
  return { ...snapshot, pods: new Map(pods) };
}

export function listOf({ members }: ClusterSnapshot): MemberList {
  if (members.is !== "present") throw new Error("the snapshot has no member list");
  return members.value;
}

export function withStatus(status: Partial<NonNullable<EtcdCluster["status"]>>): ClusterSnapshot {
  return { ...WHOLE, cluster: { ...WHOLE.cluster, status: { ...WHOLE.cluster.status!, ...status } } };
}

export function withSpec(spec: Partial<EtcdCluster["spec"]>): ClusterSnapshot {
  return { ...WHOLE, cluster: { ...WHOLE.cluster, spec: { ...WHOLE.cluster.spec, ...spec } } };
}

export function withMetadata(metadata: Partial<EtcdCluster["metadata"]>): ClusterSnapshot {
  return { ...WHOLE, cluster: { ...WHOLE.cluster, metadata: { ...WHOLE.cluster.metadata, ...metadata } } };
}

export function withCondition(type: string, status: "True" | "False" | "Unknown", reason = "Other"): ClusterSnapshot {
  const conditions = WHOLE.cluster.status!.conditions!;
  const others = conditions.filter((condition) => condition.type !== type);
  return withStatus({ conditions: [...others, { ...conditions[0]!, type, status, reason }] });
}

/** Changes the status of the last member. */
export function withMember(change: Partial<MemberStatus>): ClusterSnapshot {
  const members = WHOLE.cluster.status!.members!.map((member, n) => (n === 2 ? { ...member, ...change } : member));
  return withStatus({ members });
}

export function withoutLastMember(): ClusterSnapshot {
  return withStatus({ members: WHOLE.cluster.status!.members!.slice(0, 2) });
}

/** Changes the pod of the last member. */
export function withLastPod(change: (pod: Pod) => Pod): ClusterSnapshot {
  return { ...WHOLE, pods: new Map([...WHOLE.pods].map(([name, pod], n) => [name, n === 2 ? change(pod) : pod])) };
}

/** Metadata of an object without owner. */
export function strange({ metadata }: KubeObject) {
  const { ownerReferences: _, ...rest } = metadata;
  return { ...rest, namespace: "foo", name: "strange", uid: "strange", resourceVersion: "1" };
}

/** The object after another client's change. */
export function touched<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: "999" } };
}

export const unready = (pod: Pod): Pod => ({ ...pod, status: { ...pod.status, conditions: [] } });
export const dying = (pod: Pod): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" },
});
