import { CLAIM_RELEASE_ANNOTATION, CLUSTER_LABEL, ordinalOf, PEER_SCHEME_ANNOTATION } from "#api/names.ts";
import { NO_TLS } from "#api/tls.ts";
import { isMap, record, without } from "#base/json.ts";
import { annotationOf, at, nameOf, textAt, type Values } from "./fields.ts";
import { isQuarantined } from "./screens/orphans.ts";

// What the commands write. All of it is pure; the API server checks every object.

/** Object to create, or a sentence with the reason why there is none. */
export type Draft = { readonly object: Values } | { readonly refused: string };

/** Time in a name, such as 20261122-030000, in UTC. */
export function timeInName(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 19).replaceAll("-", "").replaceAll(":", "").replace("T", "-");
}

/** An EtcdBackup of the cluster, as one of its schedules would make it. It lacks the schedule's label, so retention ignores it. */
export function backupDraft(
  cluster: string,
  schedules: readonly Values[],
  wanted: string | undefined,
  nowMs: number,
): Draft {
  const chosen = wanted === undefined ? schedules[0] : schedules.find((each) => nameOf(each) === wanted);
  if (chosen === undefined) {
    const names = schedules.map(nameOf).join(", ");
    return {
      refused:
        wanted === undefined
          ? `No EtcdBackupSchedule names EtcdCluster ${cluster}, so there is no place for a backup: create an EtcdBackup with spec.destination.`
          : `EtcdCluster ${cluster} has no EtcdBackupSchedule ${wanted}; it has ${names === "" ? "none" : names}.`,
    };
  }
  const spec = without(record(at(chosen, "spec", "backupTemplate", "spec")), ["archive"]);
  return { object: { spec, metadata: { name: `${cluster}-${timeInName(nowMs)}` } } };
}

/** `until` of an EtcdRestore from a time or a revision; undefined for anything else. */
export function untilOf(text: string): Values | undefined {
  if (/^[1-9]\d{0,18}$/.test(text)) return { revision: text };
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  return isTime && !Number.isNaN(Date.parse(text)) ? { time: text } : undefined;
}

/** An EtcdRestore of a backup into a new cluster with the spec of this one. */
export function restoreDraft(cluster: Values, from: string, as: string, until: string | undefined): Draft {
  const point = until === undefined ? undefined : untilOf(until);
  if (until !== undefined && point === undefined)
    return {
      refused: `--until is ${JSON.stringify(until.slice(0, 60))}; it must be a revision, or a time such as 2026-11-22T09:59:00Z.`,
    };
  if (as === nameOf(cluster))
    return { refused: `--as is ${as}, which exists; it must be the name of a new EtcdCluster.` };
  const spec = without(record(at(cluster, "spec")), ["bootstrap", "paused"]);
  return {
    object: {
      metadata: { name: as },
      spec: {
        source: { backupName: from },
        ...(point === undefined ? {} : { until: point }),
        clusterTemplate: { clusterName: as, spec },
      },
    },
  };
}

/**
 * An EtcdCluster that adopts the claims that a deleted one has left. The claims state how many members there were, their
 * release, their size and their scheme; everything else comes from `given`, or is the default.
 */
export function undeleteDraft(name: string, claims: readonly Values[], given: Values): Draft {
  const own = claims.filter(
    (each) => textAt(each, "metadata", "labels", CLUSTER_LABEL) === name && !isQuarantined(each),
  );
  const members = own.filter((each) => ordinalOf(name, nameOf(each)) !== undefined);
  const [first] = members;
  if (first === undefined)
    return { refused: `No claim of an EtcdCluster ${name} is left, except those that are quarantined.` };
  const version = members.map((each) => annotationOf(each, CLAIM_RELEASE_ANNOTATION)).find((each) => each !== "");
  const spec = record(given);
  if (version === undefined && spec.version === undefined)
    return { refused: `No claim of ${name} states its etcd release: give spec.version in a file with -f.` };
  const size = textAt(first, "spec", "resources", "requests", "storage");
  const storageClassName = textAt(first, "spec", "storageClassName");
  const storage = { size, ...(storageClassName === "" ? {} : { storageClassName }) };
  const isTls = members.some((each) => annotationOf(each, PEER_SCHEME_ANNOTATION) === "https");
  return {
    object: {
      metadata: { name },
      spec: { replicas: members.length, version, storage, ...(isTls ? {} : { tls: NO_TLS }), ...spec },
    },
  };
}

/** An EtcdUser that logs in by a certificate with this common name. */
export function certificateDraft(cluster: string, commonName: string, roles: readonly string[]): Draft {
  const name = commonName.toLowerCase().replaceAll(/[^a-z0-9.-]/g, "-");
  return {
    object: {
      metadata: { name },
      spec: {
        clusterRef: { name: cluster },
        ...(name === commonName ? {} : { userName: commonName }),
        roles,
        authentication: { type: "Certificate" },
      },
    },
  };
}

/**
 * The edit of `plan`, as a merge patch of the spec.
 * @param file the EtcdCluster or its spec, as it would be applied
 */
export function editOf(file: unknown, version: string | undefined, replicas: string | undefined): Values | string {
  if (file !== undefined && !isMap(file)) return "-f must name a file with one EtcdCluster.";
  const inFile = record(file === undefined ? {} : isMap(file.spec) ? file.spec : file);
  const count = replicas === undefined ? undefined : Number(replicas);
  if (count !== undefined && !(Number.isInteger(count) && count >= 0))
    return `--replicas is ${JSON.stringify(replicas?.slice(0, 60))}; it must be a whole number.`;
  const edit = {
    ...inFile,
    ...(version === undefined ? {} : { version }),
    ...(count === undefined ? {} : { replicas: count }),
  };
  return Object.keys(edit).length === 0 ? "Give the edit: --version, --replicas or -f FILE." : edit;
}
