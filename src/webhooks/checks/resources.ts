import { etcdResourcesOf } from "#api/pod-template/etcd-container.ts";
import { BILLION, billionthsOf } from "#api/quantity.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import { quotaBytes } from "#peer/desired/etcd-options.ts";

/** etcd's `--quota-backend-bytes`, where nobody sets it: 2 GiB (https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota). */
const DEFAULT_QUOTA = 2n * 1024n ** 3n;
const FIELD = "spec.podTemplate.spec.containers[etcd].resources";

/** What is unwise about the resources of members. @param before what they were; undefined for a new cluster */
export function resourceWarnings(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): readonly string[] {
  const resources = etcdResourcesOf(spec.podTemplate);
  const quota = quotaOf(spec);
  const isAsBefore = before !== undefined && isSameData(resources, etcdResourcesOf(before.podTemplate));
  if (isAsBefore && quota === quotaOf(before)) return [];
  const { requests = {}, limits = {} } = resources ?? {};
  // Kubernetes takes the limit for a request that is not there.
  const missing = ["cpu", "memory"].filter((kind) => (requests[kind] ?? limits[kind]) === undefined);
  const memory = limits.memory === undefined ? undefined : billionthsOf(limits.memory);
  return [
    ...(missing.length === 0 ? [] : [unrequested(missing)]),
    ...(memory === undefined || memory >= quota * BILLION ? [] : [tooSmall(limits.memory, quota)]),
  ];
}

function unrequested(missing: readonly string[]): string {
  return `${FIELD}.requests has no ${missing.join(" and no ")}: on a busy node members are slowed down or evicted first, and etcd loses its leader`;
}

function tooSmall(limit: string | number | undefined, quota: bigint): string {
  const enough = sizeText(quota);
  return `${FIELD}.limits.memory is ${limit}: etcd's database may grow to its quota of ${enough}, and members that need more memory are killed; use ${enough} or more`;
}

/** How large the database may become, in bytes. */
function quotaOf(spec: EtcdClusterSpec): bigint {
  return quotaBytes(spec) ?? DEFAULT_QUOTA;
}

/** As people write it. @param bytes a whole number of them */
function sizeText(bytes: bigint): string {
  const [unit, size] = UNITS.find(([, each]) => bytes % each === 0n) ?? ["", 1n];
  return `${bytes / size}${unit}`;
}

const UNITS: readonly (readonly [string, bigint])[] = [
  ["Gi", 1024n ** 3n],
  ["Mi", 1024n ** 2n],
];
