import {
  backupFromV1alpha1,
  backupToV1alpha1,
  DEFAULT_BACKUP_RESOURCES,
  DEFAULT_BACKUP_SPEC,
} from "#api/backup-conversion.ts";
import { beyondIn, withBeyond } from "#api/beyond.ts";
import { BEYOND_V1ALPHA1_ANNOTATION } from "#api/names.ts";
import { fromBeyond, podTemplateFromV1alpha1, podTemplateToV1alpha1 } from "#api/pod-template/conversion.ts";
import { restoreFromV1alpha1, restoreToV1alpha1 } from "#api/restore-conversion.ts";
import { scheduleFromV1alpha1, scheduleToV1alpha1 } from "#api/schedule-conversion.ts";
import { whyNotShape } from "#api/shape.ts";
import { NO_TLS } from "#api/tls.ts";
import { isSameData } from "#base/hash.ts";
import { defined, record, without } from "#base/json.ts";

// How does nothing get lost between two versions?
//   v1beta1 can say all that v1alpha1 can. What it says beyond that rides, on objects of v1alpha1, in one annotation. Whoever writes v1alpha1
//   and does not name the annotation leaves it alone, as `kubectl apply` does; what v1alpha1 names itself always holds.
// What if the annotation is not what a conversion writes?
//   One object must not end a list of all, so nothing is thrown: it is converted as if there were none, and the annotation stays on it. Of
//   one that has the shape of v1beta1, the same is taken as ever; whoever writes it is refused elsewhere.
// And whether members speak TLS? v1alpha1 cannot say it, and means that they do not. v1beta1 may leave it open, and then a new cluster does: so
//   that it is left open rides along, as null.
// What of the status?
//   It is the same in both.

export type Version = "v1alpha1" | "v1beta1";
type Json = Readonly<Record<string, unknown>>;

/** By kind, what the schema of v1beta1 fills in: it need not ride along, and an object without it gets it. */
export const DEFAULTS: Readonly<Record<string, Json>> = {
  EtcdCluster: {
    clientService: { type: "ClusterIP" },
    updateStrategy: { type: "RollingUpdate" },
    disruptionBudget: "Quorum",
    monitoring: { podMonitor: false },
    paused: false,
  },
  EtcdBackup: DEFAULT_BACKUP_SPEC,
  EtcdRestore: { resources: DEFAULT_BACKUP_RESOURCES },
  EtcdBackupSchedule: {
    timeZone: "UTC",
    suspend: false,
    immediate: false,
    concurrencyPolicy: "Forbid",
    failedBackupsHistoryLimit: 3,
  },
};

/** What both versions of clusters, and of members, call by the same name; only what a cluster begins with is beyond v1alpha1. */
const CLUSTERS = ["replicas", "version", "clusterName", "clusterID", "clusterToken", "memberID"];
const MEMBERS = [...CLUSTERS, "bootstrap"];

/** What both versions say of a volume, by the same name. */
const CLAIM = ["accessModes", "storageClassName", "volumeAttributesClassName", "selector"];

type Split = { readonly said: Json; readonly beyond: Json };

/** How the spec of a kind is converted; all others are made like that of a member. */
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

/** The object in another version: an object of the operator's kinds, as the API server has it. Takes any object, and never throws. */
export function converted(object: Json, kind: string, to: Version, group: string): Json {
  const apiVersion = `${group}/${to}`;
  if (object.apiVersion === apiVersion) return object;
  return to === "v1beta1" ? toV1beta1(object, kind, apiVersion) : toV1alpha1(object, kind, apiVersion);
}

/**
 * Why what stands in the annotation cannot be used, of an object of v1alpha1 that has it: what is wrong and what it may be.
 * @returns undefined when it can
 */
export function whyNotBeyond(text: unknown, spec: unknown, kind: string): string | undefined {
  const beyond = beyondIn(text);
  if (beyond === undefined) return "it is no JSON object; it must be what a conversion has written";
  const why = whyNotShape(specToV1beta1(record(spec), kind, beyond), kind);
  return why === undefined ? undefined : `what it says does not fit v1beta1: ${why}`;
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
  const whole = specToV1beta1(spec, kind, beyondIn(text) ?? {});
  return { ...object, apiVersion, metadata: withAnnotations(object, annotations), spec: whole };
}

function specToV1beta1(spec: Json, kind: string, beyond: Json): Json {
  return defined({ ...defaultsOf(kind), ...convertersOf(kind).from(spec, beyond) });
}

/** What of it v1alpha1 says, and beyond that what the schema would not fill in anyway. */
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
  // Usable on an object of v1beta1 it was written by hand, and would become a part of the spec that nobody has checked.
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
