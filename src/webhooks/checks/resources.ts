import { etcdResourcesOf } from "#api/pod-template/etcd-container.ts";
import { BILLION, billionthsOf, wholeOf } from "#api/quantity.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import { DEFAULT_QUOTA, quotaBytes, roomOn } from "#peer/desired/etcd-options.ts";

const FIELD = "spec.podTemplate.spec.containers[etcd].resources";

/** Warns of missing or small resources of members. @param before the stored spec; undefined for a new cluster */
export function resourceWarnings(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): readonly string[] {
  const resources = etcdResourcesOf(spec.podTemplate);
  const quota = quotaOf(spec);
  const isAsBefore = before !== undefined && isSameData(resources, etcdResourcesOf(before.podTemplate));
  if (isAsBefore && quota === quotaOf(before)) return [];
  const { requests = {}, limits = {} } = resources ?? {};
  // Kubernetes uses the limit for a missing request.
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

/** Warns of the quota of the database. @param before the stored spec; undefined for a new cluster */
export function quotaWarnings(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): readonly string[] {
  return [...tooLargeQuota(spec, before), ...smallerQuota(spec, before)];
}

/**
 * Warns of a quota that does not fit on a volume of the requested size. Members get it anyway, because their claims may
 * have been expanded.
 */
function tooLargeQuota(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): readonly string[] {
  const given = spec.etcd?.backendQuota?.size;
  const isAsBefore = before !== undefined && given === before.etcd?.backendQuota?.size;
  const [quota, volume] = [quotaBytes(spec), wholeOf(spec.storage.size) ?? 0n];
  if (given === undefined || isAsBefore || quota === undefined) return [];
  const room = roomOn(volume);
  if (quota <= room) return [];
  return [
    `spec.etcd.backendQuota.size is ${given}: a volume of ${spec.storage.size} has room for a database of ${sizeText(room)}, its copy during a defragmentation, and the WAL; use ${sizeText(room)} or less, or larger volumes. A full volume crashes etcd, and the volumes of all members fill at the same time`,
  ];
}

/** Warns of a quota that was made smaller or removed. The size of the database is not known here. */
function smallerQuota(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): readonly string[] {
  if (before === undefined || quotaOf(spec) >= quotaOf(before)) return [];
  const [now, then] = [quotaOf(spec), quotaOf(before)].map(sizeText);
  return [
    `spec.etcd.backendQuota differs, and the quota becomes ${now} instead of ${then}: if the database is larger than ${now}, etcd refuses every write after the restart. Compare it with DB SIZE of etcdctl endpoint status -w table; if it is larger, set the quota of ${then} again`,
  ];
}

/**
 * Warns of a new cluster that does not state how much history it keeps.
 * @param written API version of the request; v1alpha1 has no field for it
 */
export function compactionWarnings(
  { etcd }: EtcdClusterSpec,
  before: EtcdClusterSpec | undefined,
  written: string,
): readonly string[] {
  if (before !== undefined || etcd?.autoCompaction !== undefined || written === "v1alpha1") return [];
  return [
    "spec.etcd.autoCompaction is missing: etcd keeps all history until a client compacts, and refuses every write at its quota. Set mode to Periodic with a period, to Revision with a number of revisions, or to None if clients compact",
  ];
}

/** The database quota in bytes. */
function quotaOf(spec: EtcdClusterSpec): bigint {
  return quotaBytes(spec) ?? DEFAULT_QUOTA;
}

/** The size with a unit. @param bytes a whole number */
function sizeText(bytes: bigint): string {
  const [unit, size] = UNITS.find(([, each]) => bytes % each === 0n) ?? ["", 1n];
  return `${bytes / size}${unit}`;
}

const UNITS: readonly (readonly [string, bigint])[] = [
  ["Gi", 1024n ** 3n],
  ["Mi", 1024n ** 2n],
];
