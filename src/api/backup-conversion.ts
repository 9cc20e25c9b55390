import { fromBeyond } from "#api/pod-template/conversion.ts";
import { record, without } from "#base/json.ts";

// How does v1alpha1 represent a source or destination without a field in v1alpha1?
//   The conversion writes an approximate URL, as v1alpha1 requires one for each. The exact value is stored in the
//   annotation. It applies while the URL is unchanged.

type Json = Readonly<Record<string, unknown>>;

/** Defaults of `archive` in the v1beta1 schema. */
export const DEFAULT_ARCHIVE = { maxAge: "10s", keepFor: "7d" };

/** Defaults of the v1beta1 schema. */
export const DEFAULT_BACKUP_SPEC = {
  compression: "None",
  deletionPolicy: "Retain",
  verification: { mode: "None" },
};

/** Converts the spec of an EtcdBackup, without the defaults of v1beta1. @param beyond fields that only v1beta1 has */
export function backupFromV1alpha1({ source, destination, ...rest }: Json, beyond: Json): Json {
  return {
    ...without(beyond, ["source", "destination"]),
    ...rest,
    source: source === undefined ? undefined : sourceFromV1alpha1(record(source), record(beyond.source)),
    destination:
      destination === undefined ? undefined : destinationFromV1alpha1(record(destination), record(beyond.destination)),
  };
}

export function backupToV1alpha1({ source, destination, ...rest }: Json): { said: Json; beyond: Json } {
  const from = source === undefined ? undefined : sourceToV1alpha1(record(source));
  const to = destination === undefined ? undefined : destinationToV1alpha1(record(destination));
  return {
    said: { source: from?.said, destination: to?.said },
    beyond: { ...rest, source: from?.beyond, destination: to?.beyond },
  };
}

function sourceFromV1alpha1({ clusterURL, ...rest }: Json, beyond: Json): Json {
  if (urlOf(beyond) === clusterURL) return { ...beyond, ...rest };
  const endpoints = clusterURL === undefined ? {} : { endpoints: [clusterURL] };
  return { ...without(beyond, ["cluster"]), ...rest, external: { ...record(beyond.external), ...endpoints } };
}

function sourceToV1alpha1(source: Json): { said: Json; beyond: Json | undefined } {
  const clusterURL = urlOf(source);
  const { external, ...others } = source;
  const { endpoints, ...rest } = record(external);
  const isOne = !("cluster" in source) && Array.isArray(endpoints) && endpoints.length === 1;
  const beyond = isOne && typeof clusterURL === "string" ? { ...others, external: fromBeyond(rest) } : source;
  return { said: clusterURL === undefined ? {} : { clusterURL }, beyond: fromBeyond(beyond) };
}

/** Client URL of the source. For an EtcdCluster its headless Service, which has the cluster's name. */
function urlOf({ cluster, external }: Json): unknown {
  const { name } = record(cluster);
  if (typeof name === "string") return `http://${name}:2379`;
  const { endpoints } = record(external);
  return Array.isArray(endpoints) && typeof endpoints[0] === "string" ? endpoints[0] : undefined;
}

function destinationFromV1alpha1({ objectURLTemplate, ...rest }: Json, beyond: Json): Json {
  const kind = kindOf(beyond);
  if (kind !== undefined && kind !== "url" && shown(kind, beyond[kind]) === objectURLTemplate)
    return { ...beyond, ...rest };
  const template = objectURLTemplate === undefined ? {} : { template: objectURLTemplate };
  return { ...without(beyond, KINDS), ...rest, url: { ...record(beyond.url), ...template } };
}

function destinationToV1alpha1(destination: Json): { said: Json; beyond: Json | undefined } {
  const kind = kindOf(destination);
  if (kind === undefined) return { said: {}, beyond: fromBeyond(destination) };
  if (kind !== "url")
    return { said: { objectURLTemplate: shown(kind, destination[kind]) }, beyond: fromBeyond(destination) };
  const { url, ...others } = destination;
  const { template, ...rest } = record(url);
  const said = template === undefined ? {} : { objectURLTemplate: template };
  return { said, beyond: fromBeyond({ ...others, url: fromBeyond(rest) }) };
}

const KINDS = ["s3", "gcs", "azure", "volume", "url"];
const SCHEMES: Readonly<Record<string, string>> = { s3: "s3", gcs: "gs", azure: "azblob", volume: "volume" };

function kindOf(destination: Json): string | undefined {
  return KINDS.find((kind) => destination[kind] !== undefined);
}

/** Approximate URL of the destination. Braces are removed, because v1alpha1 parses the URL as a template. */
function shown(kind: string, destination: unknown): string {
  const { bucket, container, claimName, prefix, path } = record(destination);
  const place = [bucket ?? container ?? claimName, prefix ?? path].filter((part) => typeof part === "string");
  return `${SCHEMES[kind]}://${place.join("/").replaceAll(/[{}]/g, "")}`;
}
