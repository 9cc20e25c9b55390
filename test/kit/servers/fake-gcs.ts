import { generateKeyPairSync } from "node:crypto";
import { ensureComponents } from "#dev/components.ts";
import { type StoreServer, startStoreServer } from "./store-server.ts";

/** fake-gcs-server, which implements Google's JSON API with its data in memory. It accepts every client. */
export async function startFakeGCS(): Promise<StoreServer> {
  const { "fake-gcs-server": program } = await ensureComponents(["fake-gcs-server"], (_sentence, work) =>
    work(() => {}),
  );
  return await startStoreServer((port) => [
    program,
    "-scheme=http",
    "-host=127.0.0.1",
    `-port=${port}`,
    `-external-url=http://127.0.0.1:${port}`,
    "-backend=memory",
    "-log-level=error",
  ]);
}

/** A credentials.json with a new key. The fake server issues no token for it, since it is not Google's. */
export function newServiceAccount(): { readonly file: string; readonly secrets: readonly string[] } {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const account = { type: "service_account", client_email: "tests@tests.invalid", private_key: key };
  return { file: JSON.stringify(account), secrets: key.split("\n").filter((line) => line.length > 20) };
}
