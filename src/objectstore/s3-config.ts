import type { S3ClientConfig } from "@aws-sdk/client-s3";
import type { CredentialsDirectory } from "./credentials.ts";
import { HttpConnections } from "./http.ts";
import { checkIdentityPath } from "./identity.ts";
import type { S3Location } from "./location.ts";
import type { Patience } from "./patience.ts";
import { podIdentity } from "./s3-identity.ts";

/** S3 credentials in a mounted Secret. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

const FILES = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

/** Undefined when the Secret has only `ca.crt`: then the pod's own identity is used. */
export async function readS3Credentials(directory: CredentialsDirectory): Promise<S3Credentials | undefined> {
  if (await directory.hasOnlyCA(FILES)) return undefined;
  const sessionToken = await directory.read("AWS_SESSION_TOKEN");
  return {
    accessKeyId: await directory.need("AWS_ACCESS_KEY_ID"),
    secretAccessKey: await directory.need("AWS_SECRET_ACCESS_KEY"),
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
}

/** Secrets to redact from messages. */
export function s3Secrets(credentials: S3Credentials | undefined): string[] {
  if (credentials === undefined) return [];
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  return [accessKeyId, secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken])];
}

/** Region expected by servers without regions. */
const DEFAULT_REGION = "us-east-1";

/** @param ca the only trusted CAs, as PEM, also for the token service; by default those of the system */
export function s3Config(
  location: S3Location,
  credentials: S3Credentials | undefined,
  ca: string | undefined,
  { connectMs }: Patience,
): S3ClientConfig {
  if (credentials === undefined) checkIdentityPath(ca);
  const connections = new HttpConnections(ca);
  return {
    region: location.region ?? process.env.AWS_REGION ?? DEFAULT_REGION,
    ...(location.endpoint === undefined ? { followRegionRedirects: true } : { endpoint: location.endpoint }),
    forcePathStyle: location.pathStyle ?? false,
    credentials: credentials ?? podIdentity(),
    requestHandler: {
      connectionTimeout: connectMs,
      httpAgent: connections.http,
      httpsAgent: connections.https,
    },
    // Retries are ours (patience.ts).
    maxAttempts: 1,
    // Older servers refuse the checksums that the library adds. Each request is signed with the SHA-256 of its body, so
    // that damaged data is refused anyway.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  };
}
