import { BlobServiceClient, StorageSharedKeyCredential } from "@azure/storage-blob";
import { afterAll } from "vitest";
import type { Asked } from "#kit/servers/answering-proxy.ts";
import { AZURE_ACCESS, startAzurite } from "#kit/servers/azurite.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import type { AzureLocation } from "#objectstore/location.ts";
import { MIB } from "./bodies.ts";
import { type Place, storeContract } from "./contract.ts";
import { networkContract } from "./network.ts";
import { outageContract, type Phase } from "./outages.ts";

afterAll(removeTemporaryDirs);

const server = await startAzurite();
afterAll(() => server.stop());

const { account, key } = AZURE_ACCESS;
const credentials = credentialsDir({ AZURE_STORAGE_KEY: key });
let count = 0;

/** A new container, reached at this port. */
async function place(port: number): Promise<AzureLocation> {
  const container = `container-${count++}`;
  const credential = new StorageSharedKeyCredential(account, key);
  await new BlobServiceClient(`http://127.0.0.1:${server.port}/${account}`, credential).createContainer(container);
  return { store: "azure", account, container, endpoint: `http://127.0.0.1:${port}/${account}` };
}

const placeAt = async (port: number): Promise<Place> => ({ location: await place(port), credentialsDir: credentials });

storeContract("Azure Blob", () => ({
  partBytes: 8 * MIB,
  secrets: [key],
  place: () => placeAt(server.port),
  unfinished: () => Promise.resolve([]), // Azure lists uncommitted blocks only for a known key.
}));

networkContract("Azure Blob", () => server.port, placeAt);

function phaseOf({ method, url: { searchParams } }: Asked): Phase {
  if (method === "HEAD") return "look";
  if (method === "DELETE") return "delete";
  const comp = searchParams.get("comp");
  if (method === "GET") return comp === "list" ? "list" : "read";
  if (comp === "block") return "part";
  return comp === "blocklist" ? "commit" : "whole";
}

const BUSY =
  "<Error><Code>ServerBusy</Code><Message>The server is currently unable to receive requests.</Message></Error>";

outageContract(
  "Azure Blob",
  {
    phaseOf,
    phases: ["look", "whole", "part", "commit", "read", "list", "delete"],
    busy: { status: 503, headers: { "content-type": "application/xml", "x-ms-error-code": "ServerBusy" }, body: BUSY },
  },
  () => server.port,
  placeAt,
);
