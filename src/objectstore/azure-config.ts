import type { Agent } from "node:http";
import {
  AnonymousCredential,
  BlobServiceClient,
  type ContainerClient,
  type StoragePipelineOptions,
  StorageSharedKeyCredential,
} from "@azure/storage-blob";
import { AzureWorkloadIdentity } from "./azure-identity.ts";
import type { CredentialsDirectory } from "./credentials.ts";
import { StoreError } from "./error.ts";
import type { HttpConnections } from "./http.ts";
import { checkIdentityPath } from "./identity.ts";
import type { AzureLocation } from "./location.ts";

/** Azure credentials in a mounted Secret: one of the two. */
export type AzureCredentials = { readonly key: string } | { readonly sasToken: string };

const FILES = ["AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"];

/** Undefined when the Secret has only `ca.crt`: then the pod's workload identity is used. */
export async function readAzureCredentials(directory: CredentialsDirectory): Promise<AzureCredentials | undefined> {
  if (await directory.hasOnlyCA(FILES)) return undefined;
  const key = await directory.read("AZURE_STORAGE_KEY");
  const sasToken = await directory.read("AZURE_STORAGE_SAS_TOKEN");
  if (key !== undefined && sasToken === undefined) return { key };
  if (sasToken !== undefined && key === undefined) return { sasToken: sasToken.replace(/^\?/, "") };
  const what = key === undefined ? "neither" : "both";
  const message = `the Secret with the credentials has ${what} of AZURE_STORAGE_KEY and AZURE_STORAGE_SAS_TOKEN; it may have one`;
  throw new StoreError("WrongCredentials", message);
}

/** Secrets to redact from messages: the secret of a SAS token is its signature, in two spellings. */
export function azureSecrets(credentials: AzureCredentials | undefined): string[] {
  if (credentials === undefined) return [];
  if ("key" in credentials) return [credentials.key];
  const signature = new URLSearchParams(credentials.sasToken).get("sig") ?? "";
  return [credentials.sasToken, signature, encodeURIComponent(signature)];
}

/**
 * @param ca the only trusted CAs, as PEM, also for the token service; by default those of the system
 * @param connections used with `ca`, since the library's own know no CA of a Secret
 */
export function azureContainer(
  location: AzureLocation,
  credentials: AzureCredentials | undefined,
  ca: string | undefined,
  connections: HttpConnections,
): ContainerClient {
  const { account, container } = location;
  const url = location.endpoint ?? `https://${account}.blob.core.windows.net`;
  // Retries are ours (patience.ts). The library respects HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
  const agent = new URL(url).protocol === "https:" ? connections.https : connections.http;
  const options: Options = { retryOptions: { maxTries: 1 }, ...(ca === undefined ? {} : { agent }) };
  if (credentials === undefined) {
    needAzure(url);
    checkIdentityPath(ca);
    return new BlobServiceClient(url, new AzureWorkloadIdentity(ca), options).getContainerClient(container);
  }
  if ("sasToken" in credentials) {
    const service = new BlobServiceClient(`${url}?${credentials.sasToken}`, new AnonymousCredential(), options);
    return service.getContainerClient(container);
  }
  const credential = new StorageSharedKeyCredential(account, credentials.key);
  return new BlobServiceClient(url, credential, options).getContainerClient(container);
}

/** The library passes `agent` to its pipeline, although its own type of options lacks it. */
interface Options extends StoragePipelineOptions {
  readonly agent?: Agent;
}

/**
 * Hosts of Azure Blob Storage, in its public and its national clouds.
 * Source: https://learn.microsoft.com/azure/storage/common/storage-account-overview#storage-account-endpoints
 */
const HOSTS = [
  ".blob.core.windows.net",
  ".blob.storage.azure.net",
  ".blob.core.usgovcloudapi.net",
  ".blob.core.chinacloudapi.cn",
];

/**
 * Refuses other servers: the token of a workload identity is valid at every account that it may use. @throws StoreError
 */
function needAzure(url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:" && HOSTS.some((host) => hostname.endsWith(host))) return;
  const hosts = HOSTS.map((host) => `https://*${host}`).join(", ");
  throw new StoreError(
    "WrongCredentials",
    `endpoint is ${url}; with the pod's workload identity it may be ${hosts}. For any other server name a Secret with credentials`,
  );
}
