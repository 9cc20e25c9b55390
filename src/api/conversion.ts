import { backupFromV1alpha1, backupToV1alpha1, DEFAULT_BACKUP_SPEC } from "#api/backup-conversion.ts";
import { withBeyond } from "#api/beyond.ts";
import { BEYOND_V1ALPHA1_ANNOTATION } from "#api/names.ts";
import { fromBeyond, podTemplateFromV1alpha1, podTemplateToV1alpha1 } from "#api/pod-template/conversion.ts";
import { restoreFromV1alpha1, restoreToV1alpha1 } from "#api/restore-conversion.ts";
import { scheduleFromV1alpha1, scheduleToV1alpha1 } from "#api/schedule-conversion.ts";
import { whyNotShape } from "#api/shape.ts";
import { NO_TLS } from "#api/tls.ts";
import { isSameData } from "#base/hash.ts";
import { defined, mapInText, record, without } from "#base/json.ts";

// How does a conversion keep all data?
//   v1beta1 has all fields of v1alpha1. Its other fields are stored in one annotation of the v1alpha1 object. Clients
//   of v1alpha1 that do not set the annotation keep it, as `kubectl apply` does. The fields of v1alpha1 always take
//   precedence.
// What if the annotation is invalid?
//   The conversion ignores and keeps it, because an error would make every list request fail. An annotation with the
//   shape of v1beta1 is used, even if written by hand. The admission webhook refuses such writes.
// How is spec.tls converted?
//   v1alpha1 has no such field, and its clusters have no TLS. An absent spec.tls in v1beta1 means TLS for new clusters,
//   so the annotation records it as null.
// How is the status converted?
//   It is identical in both versions.

export type Version = "v1alpha1" | "v1beta1";
type Json = Readonly<Record<string, unknown>>;

/** Defaults of the v1beta1 schema by kind. The annotation omits them, and the conversion restores them. */
export const DEFAULTS: Readonly<Record<string, Json>> = {
  EtcdCluster: {
    clientService: { spec: { type: "ClusterIP" } },
    updateStrategy: { type: "RollingUpdate" },
    disruptionBudget: { policy: "Quorum" },
    paused: false,
  },
  EtcdBackup: DEFAULT_BACKUP_SPEC,
  EtcdBackupSchedule: {
    timeZone: "UTC",
    suspend: false,
    immediate: false,
    concurrencyPolicy: "Forbid",
    failedBackupsHistoryLimit: 3,
  },
};

/**
 * Fields with the same name in both versions of EtcdCluster and EtcdPeer. An EtcdCluster's bootstrap exists in v1beta1
 * only.
 */
const CLUSTERS = ["replicas", "version", "clusterName", "clusterID", "clusterToken", "memberID"];
const MEMBERS = [...CLUSTERS, "bootstrap"];

/** Fields of a volume with the same name in both versions. */
const CLAIM = ["accessModes", "storageClassName", "volumeAttributesClassName", "selector"];

type Split = { readonly said: Json; readonly beyond: Json };

/** Converters of the spec by kind. All other kinds are converted as an EtcdPeer. */
const CONVERTERS: Readonly<Record<string, { from: (spec: Json, beyond: Json) => Json; to: (spec: Json) => Split }>> = {
  EtcdBackup: { from: backupFromV1alpha1, to: backupToV1alpha1 },
  EtcdBackupSchedule: { from: scheduleFromV1alpha1, to: scheduleToV1alpha1 },
  EtcdCluster: { from: clusterFromV1alpha1, to: clusterToV1alpha1 },
  EtcdRestore: {
    from: (spec, beyond) =>
      restoreFromV1alpha1(spec, beyond, (cluster, more) => specToV1beta1(cluster, "EtcdCluster", more)),
    to: (spec) => restoreToV1alpha1(spec, (cluster) => specToV1alpha1(cluster, "EtcdCluster")),
  },
};
const MEMBER = {
  from: (spec: Json, beyond: Json) => memberFromV1alpha1(spec, beyond, MEMBERS),
  to: (spec: Json) => memberToV1alpha1(spec, MEMBERS),
};

function convertersOf(kind: string) {
  return (Object.hasOwn(CONVERTERS, kind) ? CONVERTERS[kind] : undefined) ?? MEMBER;
}

/** Converts an object of the operator's kinds to another version. Takes any object, and never throws. */
export function converted(object: Json, kind: string, to: Version, group: string): Json {
  const apiVersion = `${group}/${to}`;
  if (object.apiVersion === apiVersion) return object;
  return to === "v1beta1" ? toV1beta1(object, kind, apiVersion) : toV1alpha1(object, kind, apiVersion);
}

/**
 * Why the annotation of an object of v1alpha1 cannot be used: the defect and the valid values.
 * @returns undefined when it can be used
 */
export function whyNotBeyond(text: unknown, spec: unknown, kind: string): string | undefined {
  const beyond = mapInText(text);
  if (beyond === undefined) return "it is no JSON object; it must be what a conversion has written";
  const why = whyNotShape(specToV1beta1(record(spec), kind, beyond), kind);
  return why === undefined ? undefined : `its fields do not fit v1beta1: ${why}`;
}

function toV1beta1(object: Json, kind: string, apiVersion: string): Json {
  const { [BEYOND_V1ALPHA1_ANNOTATION]: text, ...annotations } = annotationsOf(object);
  const spec = record(object.spec);
  if (text === undefined || whyNotBeyond(text, spec, kind) !== undefined)
    return {
      ...object,
      apiVersion,
      metadata: withAnnotations(object, annotationsOf(object)),
      spec: specToV1beta1(spec, kind, {}),
    };
  const whole = specToV1beta1(spec, kind, mapInText(text) ?? {});
  return { ...object, apiVersion, metadata: withAnnotations(object, annotations), spec: whole };
}

function specToV1beta1(spec: Json, kind: string, beyond: Json): Json {
  return defined({ ...defaultsOf(kind), ...convertersOf(kind).from(spec, beyond) });
}

/** Splits a spec into the fields of v1alpha1 and the other fields that differ from their defaults. */
function specToV1alpha1(whole: Json, kind: string): Split {
  const { said, beyond } = convertersOf(kind).to(whole);
  const isDefault = ([key, value]: readonly [string, unknown]) => isSameData(value, defaultsOf(kind)[key]);
  const more = Object.entries(defined(beyond)).filter((entry) => !isDefault(entry));
  return { said: defined(said), beyond: Object.fromEntries(more) };
}

function clusterFromV1alpha1(spec: Json, { tls = NO_TLS, ...beyond }: Json): Json {
  return { ...memberFromV1alpha1(spec, beyond, CLUSTERS), tls: tls === null ? undefined : tls };
}

function clusterToV1alpha1({ tls = null, ...spec }: Json): Split {
  const { said, beyond } = memberToV1alpha1(spec, CLUSTERS);
  return { said, beyond: { ...beyond, tls: isSameData(tls, NO_TLS) ? undefined : tls } };
}

function memberFromV1alpha1(
  { storage, podTemplate, previous, ...rest }: Json,
  beyond: Json,
  common: readonly string[],
): Json {
  return {
    ...without(beyond, common),
    ...rest,
    storage: storage === undefined ? undefined : storageFromV1alpha1(record(storage), record(beyond.storage)),
    podTemplate: podTemplateFromV1alpha1(podTemplate, beyond.podTemplate),
    previous: previous === undefined ? undefined : previousFromV1alpha1(record(previous), record(beyond.previous)),
  };
}

function toV1alpha1(object: Json, kind: string, apiVersion: string): Json {
  const { said: spec, beyond: more } = specToV1alpha1(record(object.spec), kind);
  const { [BEYOND_V1ALPHA1_ANNOTATION]: left, ...others } = annotationsOf(object);
  // Drop a usable annotation from an object of v1beta1. It was written by hand, and the next conversion would merge it
  // into the spec unchecked.
  const isLeft = left !== undefined && whyNotBeyond(left, spec, kind) !== undefined;
  const alone = isLeft ? { ...others, [BEYOND_V1ALPHA1_ANNOTATION]: left } : others;
  const annotations = Object.keys(more).length === 0 ? alone : withBeyond(others, more);
  return { ...object, apiVersion, metadata: withAnnotations(object, annotations), spec };
}

function memberToV1alpha1({ storage, podTemplate, previous, ...rest }: Json, common: readonly string[]): Split {
  const template = podTemplateToV1alpha1(podTemplate);
  const volume = storage === undefined ? undefined : storageToV1alpha1(record(storage));
  const back = previous === undefined ? undefined : previousToV1alpha1(record(previous));
  return {
    said: {
      ...only(rest, common),
      storage: volume?.said,
      podTemplate: template.said,
      previous: back?.said,
    },
    beyond: {
      ...without(rest, common),
      storage: volume?.beyond,
      podTemplate: template.beyond,
      previous: back?.beyond,
    },
  };
}

function defaultsOf(kind: string): Json {
  return Object.hasOwn(DEFAULTS, kind) ? (DEFAULTS[kind] ?? {}) : {};
}

function storageFromV1alpha1({ volumeClaimTemplate }: Json, beyond: Json): Json {
  const claim = record(volumeClaimTemplate);
  const size = record(record(claim.resources).requests).storage;
  return defined({ ...without(beyond, [...CLAIM, "size"]), ...only(claim, CLAIM), size });
}

function storageToV1alpha1({ size, ...rest }: Json): { said: Json; beyond: Json | undefined } {
  const resources = size === undefined ? {} : { resources: { requests: { storage: size } } };
  const said = { volumeClaimTemplate: { ...only(rest, CLAIM), volumeMode: "Filesystem", ...resources } };
  return { said, beyond: fromBeyond(without(rest, CLAIM)) };
}

function previousFromV1alpha1({ podTemplate, ...rest }: Json, beyond: Json): Json {
  return defined({ ...beyond, ...rest, podTemplate: podTemplateFromV1alpha1(podTemplate, beyond.podTemplate) });
}

function previousToV1alpha1({ version, podTemplate, ...rest }: Json): { said: Json; beyond: Json | undefined } {
  const { said, beyond } = podTemplateToV1alpha1(podTemplate);
  return { said: defined({ version, podTemplate: said }), beyond: fromBeyond({ ...rest, podTemplate: beyond }) };
}

function annotationsOf({ metadata }: Json): Json {
  return record(record(metadata).annotations);
}

function withAnnotations(object: Json, annotations: Json): Json {
  const { annotations: _, ...metadata } = record(object.metadata);
  return Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations };
}

function only(object: Json, keys: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([key]) => keys.includes(key)));
}
