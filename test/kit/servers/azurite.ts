import { ensureAzurite } from "#dev/azurite.ts";
import type { ServerTLS } from "./server-tls.ts";
import { type StoreServer, startStoreServer, temporaryDir } from "./store-server.ts";

/** Name and key of Azurite's account. */
export const AZURE_ACCESS = {
  account: "testaccount",
  key: Buffer.from("azure key of the tests, which opens nothing anywhere").toString("base64"),
};

/** Azurite, the emulator of Azure Blob Storage, with its data in memory. */
export async function startAzurite(tls?: ServerTLS): Promise<StoreServer> {
  const main = await ensureAzurite((_sentence, work) => work(() => {}));
  const home = temporaryDir("azurite");
  return await startStoreServer(
    (port) => [
      process.execPath,
      main,
      "--blobHost=127.0.0.1",
      `--blobPort=${port}`,
      `--location=${home}`,
      "--skipApiVersionCheck",
      "--disableTelemetry",
      "--silent",
      // Azurite accepts bearer tokens over TLS only. It checks their audience, but not their signature.
      ...(tls === undefined ? [] : ["--cert", tls.cert, "--key", tls.key, "--oauth", "basic"]),
    ],
    { AZURITE_ACCOUNTS: `${AZURE_ACCESS.account}:${AZURE_ACCESS.key}` },
  );
}
