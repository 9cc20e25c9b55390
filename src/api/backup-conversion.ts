import { fromBeyond } from "#api/pod-template/conversion.ts";
import { record, without } from "#base/json.ts";

// What does v1alpha1 show of a backup that it cannot say?
//   It must show a URL of the source and one of the destination, so it shows the nearest thing. What was meant rides along, and holds as
//   long as the URL is what would be shown of it.

type Json = Readonly<Record<string, unknown>>;

/** A fifth of a core moves some hundred megabytes a second, and memory is the same at any size: the agent stays below 150 MB. */
export const DEFAULT_BACKUP_RESOURCES = {
  requests: { cpu: "200m", memory: "160Mi" },
  limits: { memory: "256Mi" },
};

/** What the schema of v1beta1 fills in. */
export const DEFAULT_BACKUP_SPEC = {
  compression: "None",
  objectPolicy: "Keep",
  resources: DEFAULT_BACKUP_RESOURCES,
  verify: false,
};

/** The spec of an EtcdBackup, without what v1beta1 fills in. @param beyond what v1alpha1 cannot say of it */
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
  const isWhole = "clusterName" in beyond || "endpoints" in beyond;
  if (isWhole && urlOf(beyond) === clusterURL) return { ...beyond, ...rest };
  const endpoints = clusterURL === undefined ? {} : { endpoints: [clusterURL] };
  return { ...without(beyond, ["clusterName", "endpoints"]), ...rest, ...endpoints };
}

function sourceToV1alpha1(source: Json): { said: Json; beyond: Json | undefined } {
  const clusterURL = urlOf(source);
  const { endpoints, ...rest } = source;
  const isOne = !("clusterName" in rest) && Array.isArray(endpoints) && endpoints.length === 1;
  const beyond = isOne && typeof clusterURL === "string" ? rest : source;
  return { said: clusterURL === undefined ? {} : { clusterURL }, beyond: fromBeyond(beyond) };
}

/** An EtcdCluster is reached by the Service of its name. */
function urlOf({ clusterName, endpoints }: Json): unknown {
  if (typeof clusterName === "string") return `http://${clusterName}:2379`;
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

/** Where it is, roughly: what stands in an EtcdBackup of v1beta1 has no braces, so it is a template, too. */
function shown(kind: string, destination: unknown): string {
  const { bucket, container, claimName, prefix, path } = record(destination);
  const place = [bucket ?? container ?? claimName, prefix ?? path].filter((part) => typeof part === "string");
  return `${SCHEMES[kind]}://${place.join("/").replaceAll(/[{}]/g, "")}`;
}
