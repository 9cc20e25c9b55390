import { billionthsOf } from "#api/quantity.ts";
import type { EtcdClusterSpec } from "#api/v1alpha1/cluster.ts";
import { isSameData } from "#base/hash.ts";

const FIELD = "spec.podTemplate.resources";
/** etcd's `--quota-backend-bytes`, where nobody sets it: 2 GiB (https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota). */
const DEFAULT_QUOTA = billionthsOf("2Gi") ?? 0n;

/** What is unwise about the resources of members. @param before what they were; undefined for a new cluster */
export function resourceWarnings(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): readonly string[] {
  const { resources } = spec.podTemplate;
  if (before !== undefined && isSameData(resources, before.podTemplate.resources)) return [];
  const { requests = {}, limits = {} } = resources ?? {};
  // Kubernetes takes the limit for a request that is not there.
  const missing = ["cpu", "memory"].filter((kind) => (requests[kind] ?? limits[kind]) === undefined);
  const memory = limits.memory === undefined ? undefined : billionthsOf(limits.memory);
  return [
    ...(missing.length === 0 ? [] : [unrequested(missing)]),
    ...(memory === undefined || memory >= DEFAULT_QUOTA ? [] : [tooSmall(limits.memory)]),
  ];
}

function unrequested(missing: readonly string[]): string {
  return `${FIELD}.requests has no ${missing.join(" and no ")}: on a busy node members are slowed down or evicted first, and etcd loses its leader`;
}

function tooSmall(limit: string | number | undefined): string {
  return `${FIELD}.limits.memory is ${limit}: etcd's database may grow to its quota of 2Gi, and members that need more memory are killed; use 2Gi or more`;
}
