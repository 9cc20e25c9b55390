import { readdir } from "node:fs/promises";
import { CredentialsDirectory } from "./credentials.ts";
import { checkLocation, type StoreLocation } from "./location.ts";
import { PATIENCE, type Patience } from "./patience.ts";
import type { ObjectStore } from "./store.ts";

export interface OpenOptions {
  /**
   * Where a Secret with credentials is mounted. Without it, or when nothing is in it, the libraries find what the pod was given, such as a web
   * identity.
   */
  readonly credentialsDir?: string;
  readonly patience?: Patience;
}

/**
 * Asks nobody yet. Each store's library is loaded when it is needed: together they take more memory than all the rest.
 * @throws StoreError `InvalidLocation`, or `WrongCredentials` when the directory has not what it takes
 */
export async function openStore(location: StoreLocation, options: OpenOptions = {}): Promise<ObjectStore> {
  checkLocation(location);
  const patience = options.patience ?? PATIENCE;
  const directory = await credentialsIn(options.credentialsDir);
  switch (location.store) {
    case "s3": {
      const [{ S3Store }, { readS3Credentials }] = await Promise.all([import("./s3.ts"), import("./s3-config.ts")]);
      return new S3Store(location, directory && (await readS3Credentials(directory)), patience);
    }
    case "azure": {
      const [{ AzureStore }, { readAzureCredentials }] = await Promise.all([
        import("./azure.ts"),
        import("./azure-config.ts"),
      ]);
      return new AzureStore(location, directory && (await readAzureCredentials(directory)), patience);
    }
    case "gcs": {
      const [{ GCSStore }, { readGCSCredentials }] = await Promise.all([import("./gcs.ts"), import("./gcs-token.ts")]);
      return new GCSStore(location, directory && (await readGCSCredentials(directory)), patience);
    }
    case "volume": {
      const { VolumeStore } = await import("./volume.ts");
      return new VolumeStore(location, patience);
    }
  }
}

/** Of a Secret that may be missing, and is, the kubelet makes an empty directory; entries of its own begin with two dots. */
async function credentialsIn(path: string | undefined): Promise<CredentialsDirectory | undefined> {
  if (path === undefined) return undefined;
  const entries = await readdir(path).catch(() => undefined); // who reads a file of it says what is wrong
  return entries?.every((entry) => entry.startsWith("..")) === true ? undefined : new CredentialsDirectory(path);
}
