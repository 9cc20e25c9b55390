import { StoreError } from "./error.ts";
import { checkKey } from "./key.ts";

// Locations of objects, as JSON values without secrets and as URLs. The URLs have the schemes and parameters of Go's
// gocloud.dev/blob, in use since 2019.

export interface S3Location {
  readonly store: "s3";
  readonly bucket: string;
  /** URL of a server other than AWS. Example: `https://minio.example.com:9000` */
  readonly endpoint?: string;
  readonly region?: string;
  /** The bucket is in the path, `https://server/bucket/key`, instead of the host name. */
  readonly pathStyle?: boolean;
  /** For new objects; no part of the URL. */
  readonly storage?: S3Storage;
}

/** How S3 stores new objects. */
export interface S3Storage {
  readonly serverSideEncryption?: "AES256" | "aws:kms";
  readonly kmsKeyID?: string;
  readonly storageClass?:
    | "STANDARD"
    | "STANDARD_IA"
    | "ONEZONE_IA"
    | "INTELLIGENT_TIERING"
    | "GLACIER_IR"
    | "REDUCED_REDUNDANCY";
  readonly tags?: Readonly<Record<string, string>>;
}

export interface GCSLocation {
  readonly store: "gcs";
  readonly bucket: string;
  readonly endpoint?: string;
}

export interface AzureLocation {
  readonly store: "azure";
  readonly account: string;
  readonly container: string;
  /** Includes the account if the server requires it. Example: `http://127.0.0.1:10000/devstoreaccount1` */
  readonly endpoint?: string;
}

export interface VolumeLocation {
  readonly store: "volume";
  /** Directory of the mounted volume, or one below it. It must exist. */
  readonly path: string;
}

export type StoreLocation = S3Location | GCSLocation | AzureLocation | VolumeLocation;

/** A location that has a URL. */
export type RemoteLocation = S3Location | GCSLocation | AzureLocation;

/** Known parameters of each scheme. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  s3: ["endpoint", "region", "s3ForcePathStyle", "disableSSL"],
  gs: ["endpoint"],
  azblob: ["storage_account", "endpoint"],
};

const SCHEMES = "s3://bucket/key, gs://bucket/key or azblob://container/key?storage_account=NAME";

/**
 * @param text `s3://bucket/key?endpoint=…&region=…&s3ForcePathStyle=true&disableSSL=true`, `gs://bucket/key?endpoint=…`
 * or `azblob://container/key?storage_account=…&endpoint=…`; the key is percent-decoded
 * @throws StoreError `InvalidLocation` naming the part, its value and what it may be
 */
export function parseObjectURL(text: string): { readonly location: RemoteLocation; readonly key: string } {
  // The text is not repeated: it may contain a password, which must not appear in a status.
  if (!URL.canParse(text)) throw invalid(`the object URL is not a URL; it may be ${SCHEMES}`);
  const url = new URL(text);
  const scheme = url.protocol.slice(0, -1);
  const known = PARAMETERS[scheme];
  if (known === undefined) throw invalid(`the object URL has the scheme "${scheme}"; it may be ${SCHEMES}`);
  if (url.username !== "" || url.password !== "") {
    throw invalid("the object URL has a user or password; credentials are given as a Secret");
  }
  if (url.port !== "" || url.hash !== "") {
    throw invalid(`the object URL has a port or a fragment; it may be ${SCHEMES}, with "#" in the key as %23`);
  }
  const parameters = readParameters(scheme, known, url.searchParams);
  return { location: locationOf(scheme, decoded(url.hostname, "bucket"), parameters), key: keyOf(url.pathname) };
}

/** Formats a location and key as a URL that `parseObjectURL` accepts. */
export function objectURL(location: RemoteLocation, key: string): string {
  const path = key.split("/").map(encodeURIComponent).join("/");
  const parameters = parametersOf(location).filter(([, value]) => value !== undefined) as [string, string][];
  const query = parameters.length === 0 ? "" : `?${new URLSearchParams(parameters)}`;
  switch (location.store) {
    case "s3":
      return `s3://${location.bucket}/${path}${query}`;
    case "gcs":
      return `gs://${location.bucket}/${path}${query}`;
    case "azure":
      return `azblob://${location.container}/${path}${query}`;
  }
}

function parametersOf(location: RemoteLocation): [string, string | undefined][] {
  switch (location.store) {
    case "s3": {
      const pathStyle = location.pathStyle === undefined ? undefined : String(location.pathStyle);
      return [
        ["endpoint", location.endpoint],
        ["region", location.region],
        ["s3ForcePathStyle", pathStyle],
      ];
    }
    case "gcs":
      return [["endpoint", location.endpoint]];
    case "azure":
      return [
        ["storage_account", location.account],
        ["endpoint", location.endpoint],
      ];
  }
}

function readParameters(scheme: string, known: readonly string[], query: URLSearchParams): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of query) {
    if (!known.includes(name)) {
      throw invalid(`parameter "${name}" of the object URL is unknown; ${scheme}:// knows ${known.join(", ")}`);
    }
    if (parameters.has(name)) throw invalid(`parameter "${name}" of the object URL is there twice; it may be once`);
    if (value === "") throw invalid(`parameter "${name}" of the object URL is empty; leave it out, or give it a value`);
    parameters.set(name, value);
  }
  return parameters;
}

function locationOf(scheme: string, bucket: string, parameters: ReadonlyMap<string, string>): RemoteLocation {
  const endpoint = endpointOf(parameters.get("endpoint"), isTrue(parameters, "disableSSL") === true);
  const at = endpoint === undefined ? {} : { endpoint };
  if (scheme === "gs") return checkLocation({ store: "gcs", bucket, ...at });
  if (scheme === "azblob") {
    const account = parameters.get("storage_account");
    if (account === undefined) {
      throw invalid(
        'parameter "storage_account" of the object URL is missing; it may be the name of the storage account',
      );
    }
    return checkLocation({ store: "azure", account, container: bucket, ...at });
  }
  const region = parameters.get("region");
  const pathStyle = isTrue(parameters, "s3ForcePathStyle");
  return checkLocation({
    store: "s3",
    bucket,
    ...at,
    ...(region === undefined ? {} : { region }),
    ...(pathStyle === undefined ? {} : { pathStyle }),
  });
}

/** Like Go's strconv.ParseBool, which used to parse these URLs. */
function isTrue(parameters: ReadonlyMap<string, string>, name: string): boolean | undefined {
  const value = parameters.get(name);
  if (value === undefined) return undefined;
  if (["1", "t", "T", "true", "TRUE", "True"].includes(value)) return true;
  if (["0", "f", "F", "false", "FALSE", "False"].includes(value)) return false;
  throw invalid(`parameter "${name}" of the object URL is ${JSON.stringify(value)}; it may be true or false`);
}

/** Without a scheme, `disableSSL` decides about TLS; with one, the scheme does, as in Amazon's own library. */
function endpointOf(value: string | undefined, withoutTLS: boolean): string | undefined {
  if (value === undefined || /^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return value;
  return `${withoutTLS ? "http" : "https"}://${value}`;
}

function keyOf(path: string): string {
  return checkKey(decoded(path.slice(1), "key"));
}

function decoded(text: string, part: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign without two hexadecimal digits.
    throw invalid(`the ${part} of the object URL has a "%" that encodes nothing; it may be %25`);
  }
}

/** Names that are safe in a URL, a host name or a path. Each store has stricter rules and reports violations itself. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,221}$/;
const BUCKET_MAY_BE = "2 to 222 letters, digits, '.', '_' and '-'";
const REGION = /^[A-Za-z0-9-]{1,63}$/;

/** @throws StoreError `InvalidLocation` naming the field, its value and what it may be */
export function checkLocation<L extends StoreLocation>(location: L): L {
  switch (location.store) {
    case "s3":
      // The region becomes part of the host that gets web identity tokens.
      if (location.region !== undefined)
        checkName("region", location.region, REGION, "up to 63 letters, digits and '-'");
      checkName("bucket", location.bucket, BUCKET, BUCKET_MAY_BE);
      break;
    case "gcs":
      checkName("bucket", location.bucket, BUCKET, BUCKET_MAY_BE);
      break;
    case "azure":
      checkName("account", location.account, /^[a-z0-9]{3,24}$/, "3 to 24 lower case letters and digits");
      checkName(
        "container",
        location.container,
        /^(\$root|[a-z0-9][a-z0-9-]{2,62})$/,
        "3 to 63 lower case letters, digits and '-'",
      );
      break;
    case "volume":
      checkName("path", location.path, /^\/[^\0]*$/, "an absolute path");
      return location;
  }
  if (location.endpoint !== undefined) checkEndpoint(location.endpoint);
  return location;
}

function checkName(field: string, value: string, pattern: RegExp, mayBe: string): void {
  if (!pattern.test(value)) throw invalid(`${field} is ${JSON.stringify(value)}; it may be ${mayBe}`);
}

function checkEndpoint(endpoint: string): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url?.username || url?.password)
    throw invalid("endpoint has a user or password; credentials are given as a Secret");
  if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.hostname === "" || url.search !== "") {
    throw invalid(`endpoint is ${JSON.stringify(endpoint)}; it may be http:// or https://, a host and a port`);
  }
}

function invalid(message: string): StoreError {
  return new StoreError("InvalidLocation", message);
}
