import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureAzurite } from "#dev/azurite.ts";
import { type StoreServer, startStoreServer } from "#kit/store-server.ts";

/** What Azurite is told that its account is called and has as its key. */
export const AZURE_ACCESS = {
  account: "testaccount",
  key: Buffer.from("azure key of the tests, which opens nothing anywhere").toString("base64"),
};

/** Azurite, the emulator of Azure Blob Storage, in memory of its own. */
export async function startAzurite(): Promise<StoreServer> {
  const main = await ensureAzurite((_sentence, work) => work(() => {}));
  const home = mkdtempSync(join(tmpdir(), "azurite-"));
  const server = await startStoreServer(
    (port) => [
      process.execPath,
      main,
      "--blobHost=127.0.0.1",
      `--blobPort=${port}`,
      `--location=${home}`,
      "--skipApiVersionCheck",
      "--disableTelemetry",
      "--silent",
    ],
    { AZURITE_ACCOUNTS: `${AZURE_ACCESS.account}:${AZURE_ACCESS.key}` },
  );
  return {
    port: server.port,
    async stop() {
      await server.stop();
      rmSync(home, { recursive: true });
    },
  };
}
