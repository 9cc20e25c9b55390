import { readdir } from "node:fs/promises";
import { CredentialsDirectory } from "./credentials.ts";
import { StoreError } from "./error.ts";
import { checkLocation, type StoreLocation } from "./location.ts";
import { PATIENCE, type Patience } from "./patience.ts";
import type { ObjectStore } from "./store.ts";

export interface OpenOptions {
  /**
   * Mount path of a Secret with credentials. Undefined or empty: the libraries use the pod's own identity, such as a
   * web identity.
   */
  readonly credentialsDir?: string;
  /** Whether an empty directory is an error that may pass: the Secret may be created late. */
  readonly needsCredentials?: boolean;
  readonly patience?: Patience;
}

/**
 * Opens a store without sending a request. Each store's library is loaded on demand: together they need more memory
 * than all the rest.
 * @throws StoreError `InvalidLocation`, or `WrongCredentials` when the Secret is incomplete
 */
export async function openStore(location: StoreLocation, options: OpenOptions = {}): Promise<ObjectStore> {
  checkLocation(location);
  const patience = options.patience ?? PATIENCE;
  const directory = await credentialsIn(options.credentialsDir);
  if (directory === undefined && options.needsCredentials === true) {
    const message = `the Secret with the credentials does not exist, or has none of the keys for ${location.store}`;
    throw new StoreError("WrongCredentials", message, { mayPass: true });
  }
  const ca = await directory?.ca();
  switch (location.store) {
    case "s3": {
      const [{ S3Store }, { readS3Credentials }] = await Promise.all([import("./s3.ts"), import("./s3-config.ts")]);
      return new S3Store(location, directory && (await readS3Credentials(directory)), ca, patience);
    }
    case "azure": {
      const [{ AzureStore }, { readAzureCredentials }] = await Promise.all([
        import("./azure.ts"),
        import("./azure-config.ts"),
      ]);
      return new AzureStore(location, directory && (await readAzureCredentials(directory)), ca, patience);
    }
    case "gcs": {
      const [{ GCSStore }, { readGCSCredentials }] = await Promise.all([import("./gcs.ts"), import("./gcs-token.ts")]);
      return new GCSStore(location, directory && (await readGCSCredentials(directory)), ca, patience);
    }
    case "volume": {
      const { VolumeStore } = await import("./volume.ts");
      return new VolumeStore(location, patience);
    }
  }
}

/**
 * Credentials in a directory. The kubelet mounts an empty directory for an optional Secret that is missing; its own
 * entries begin with two dots.
 */
async function credentialsIn(path: string | undefined): Promise<CredentialsDirectory | undefined> {
  if (path === undefined) return undefined;
  const entries = await readdir(path).catch(() => undefined); // reading a file reports the error
  return entries?.every((entry) => entry.startsWith("..")) === true ? undefined : new CredentialsDirectory(path);
}
