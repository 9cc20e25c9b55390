import { ensureAzurite } from "#dev/azurite.ts";
import type { ServerTLS } from "#kit/server-tls.ts";
import { type StoreServer, startStoreServer, temporaryDir } from "#kit/store-server.ts";

/** What Azurite is told that its account is called and has as its key. */
export const AZURE_ACCESS = {
  account: "testaccount",
  key: Buffer.from("azure key of the tests, which opens nothing anywhere").toString("base64"),
};

/** Azurite, the emulator of Azure Blob Storage, in memory of its own. */
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
      // Bearer tokens are taken over TLS alone, and looked at for what they are for, not for who signed them.
      ...(tls === undefined ? [] : ["--cert", tls.cert, "--key", tls.key, "--oauth", "basic"]),
    ],
    { AZURITE_ACCOUNTS: `${AZURE_ACCESS.account}:${AZURE_ACCESS.key}` },
  );
}
