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
import type { AzureLocation } from "./location.ts";

/** What a mounted Secret holds for Azure: one of the two. */
export type AzureCredentials = { readonly key: string } | { readonly sasToken: string };

export async function readAzureCredentials(directory: CredentialsDirectory): Promise<AzureCredentials> {
  const key = await directory.read("AZURE_STORAGE_KEY");
  const sasToken = await directory.read("AZURE_STORAGE_SAS_TOKEN");
  if (key !== undefined && sasToken === undefined) return { key };
  if (sasToken !== undefined && key === undefined) return { sasToken: sasToken.replace(/^\?/, "") };
  const what = key === undefined ? "neither" : "both";
  const message = `the Secret with the credentials has ${what} of AZURE_STORAGE_KEY and AZURE_STORAGE_SAS_TOKEN; it may have one`;
  throw new StoreError("WrongCredentials", message);
}

/** What never stands in a message: of a SAS token the signature is the secret, and it may be written in two ways. */
export function azureSecrets(credentials: AzureCredentials | undefined): string[] {
  if (credentials === undefined) return [];
  if ("key" in credentials) return [credentials.key];
  const signature = new URLSearchParams(credentials.sasToken).get("sig") ?? "";
  return [credentials.sasToken, signature, encodeURIComponent(signature)];
}

export function azureContainer(location: AzureLocation, credentials: AzureCredentials | undefined): ContainerClient {
  const { account, container } = location;
  const url = location.endpoint ?? `https://${account}.blob.core.windows.net`;
  // We make attempts ourselves (patience.ts). The library heeds HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
  const options: StoragePipelineOptions = { retryOptions: { maxTries: 1 } };
  if (credentials === undefined) {
    return new BlobServiceClient(url, new AzureWorkloadIdentity(), options).getContainerClient(container);
  }
  if ("sasToken" in credentials) {
    const service = new BlobServiceClient(`${url}?${credentials.sasToken}`, new AnonymousCredential(), options);
    return service.getContainerClient(container);
  }
  const credential = new StorageSharedKeyCredential(account, credentials.key);
  return new BlobServiceClient(url, credential, options).getContainerClient(container);
}
