import { fromBeyond } from "#api/pod-template/conversion.ts";
import { isMap, record, without } from "#base/json.ts";

// How does v1alpha1 represent a source that it has no field for?
//   The conversion writes an approximate URL, as v1alpha1 requires one. The exact source is stored in the annotation.
//   It applies while the URL is unchanged. The cluster's spec is converted like that of an EtcdCluster.

type Json = Readonly<Record<string, unknown>>;
type Split = { readonly said: Json; readonly beyond: Json };

/**
 * Converts the spec of an EtcdRestore, without the defaults of v1beta1.
 * @param beyond fields that only v1beta1 has @param cluster converter of an EtcdCluster's spec
 */
export function restoreFromV1alpha1(
  { source, clusterTemplate, ...rest }: Json,
  beyond: Json,
  cluster: (spec: Json, beyond: Json) => Json,
): Json {
  return {
    ...without(beyond, ["source", "clusterTemplate"]),
    ...rest,
    source: source === undefined ? undefined : sourceFromV1alpha1(record(source), record(beyond.source)),
    clusterTemplate:
      clusterTemplate === undefined
        ? undefined
        : templateFromV1alpha1(record(clusterTemplate), record(beyond.clusterTemplate), cluster),
  };
}

export function restoreToV1alpha1({ source, clusterTemplate, ...rest }: Json, cluster: (spec: Json) => Split): Split {
  const from = source === undefined ? undefined : sourceToV1alpha1(record(source));
  const template = clusterTemplate === undefined ? undefined : templateToV1alpha1(record(clusterTemplate), cluster);
  return {
    said: { source: from?.said, clusterTemplate: template?.said },
    beyond: { ...rest, source: from?.beyond, clusterTemplate: template?.beyond },
  };
}

function sourceFromV1alpha1({ objectURL, ...rest }: Json, beyond: Json): Json {
  if (beyond.backupName !== undefined || kindOf(beyond.object) !== undefined)
    if (shown(beyond) === objectURL) return { ...beyond, ...rest };
  const object = record(beyond.object);
  const url = { ...record(object.url), ...(objectURL === undefined ? {} : { url: objectURL }) };
  return {
    ...without(beyond, ["backupName", "object"]),
    ...rest,
    object: { ...without(object, KINDS), url },
  };
}

function sourceToV1alpha1(source: Json): { said: Json; beyond: Json | undefined } {
  const { object, ...others } = source;
  const { url, ...more } = record(object);
  const isURL = isMap(url) && typeof url.url === "string" && Object.keys(others).length === 0 && !hasKind(more);
  if (!isURL) {
    const objectURL = shown(source);
    return { said: objectURL === undefined ? {} : { objectURL }, beyond: fromBeyond(source) };
  }
  const { url: objectURL, ...rest } = url;
  const beyond = fromBeyond({ ...more, url: fromBeyond(rest) });
  return { said: { objectURL }, beyond: fromBeyond({ object: beyond }) };
}

function templateFromV1alpha1(template: Json, beyond: Json, cluster: (spec: Json, beyond: Json) => Json): Json {
  const { spec, ...rest } = template;
  const whole = spec === undefined ? {} : { spec: cluster(record(spec), record(beyond.spec)) };
  return { ...without(beyond, ["clusterName", "spec"]), ...rest, ...whole };
}

function templateToV1alpha1(template: Json, cluster: (spec: Json) => Split): { said: Json; beyond: Json | undefined } {
  const { clusterName, spec, ...rest } = template;
  const converted = spec === undefined ? undefined : cluster(record(spec));
  return {
    said: {
      ...(clusterName === undefined ? {} : { clusterName }),
      ...(converted === undefined ? {} : { spec: converted.said }),
    },
    beyond: fromBeyond({ ...rest, spec: converted && fromBeyond(converted.beyond) }),
  };
}

const KINDS = ["s3", "gcs", "azure", "volume", "url"];
const SCHEMES: Readonly<Record<string, string>> = { s3: "s3", gcs: "gs", azure: "azblob", volume: "volume" };

function kindOf(object: unknown): string | undefined {
  return KINDS.find((kind) => kind !== "url" && record(object)[kind] !== undefined);
}

function hasKind(object: Json): boolean {
  return kindOf(object) !== undefined;
}

/** Approximate URL of the source; `undefined` when it has no location. */
function shown({ backupName, object }: Json): string | undefined {
  if (typeof backupName === "string") return `backup://${backupName}`;
  const kind = kindOf(object);
  if (kind === undefined) {
    const { url } = record(record(object).url);
    return typeof url === "string" ? url : undefined;
  }
  const { bucket, container, claimName, key } = record(record(object)[kind]);
  const place = [bucket ?? container ?? claimName, key].filter((part) => typeof part === "string");
  return `${SCHEMES[kind]}://${place.join("/")}`.slice(0, 600);
}
