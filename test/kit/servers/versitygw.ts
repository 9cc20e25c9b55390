import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ensureComponents } from "#dev/components.ts";
import { type StoreServer, startStoreServer, temporaryDir } from "./store-server.ts";

/** The root user; long and odd enough to be found in a text that must not contain it. */
export const S3_ACCESS = { id: "AKIATESTTESTTESTTEST", secret: "s3+secret/of-the-tests/0123456789abcdefgh" };

export interface Versitygw extends StoreServer {
  /** The folder with one subfolder for each bucket. */
  readonly root: string;
  bucket(name: string): string;
}

/**
 * versitygw, which implements S3 over a folder.
 * @param options.host where it listens; by default only this machine can reach it
 */
export async function startVersitygw(
  options: { host?: string; root?: string; virtualDomain?: string; tls?: { cert: string; key: string } } = {},
): Promise<Versitygw> {
  const { versitygw } = await ensureComponents(["versitygw"], (_sentence, work) => work(() => {}));
  const home = temporaryDir("versitygw");
  const root = options.root ?? join(home, "buckets");
  const sidecar = join(home, "sidecar");
  for (const folder of [root, sidecar]) mkdirSync(folder, { recursive: true });
  const tls = options.tls === undefined ? [] : ["--cert", options.tls.cert, "--key", options.tls.key];
  const domain = options.virtualDomain === undefined ? [] : ["--virtual-domain", options.virtualDomain];
  const server = await startStoreServer(
    (port) => [
      versitygw,
      "--port",
      `${options.host ?? "127.0.0.1"}:${port}`,
      "--keep-alive",
      ...tls,
      ...domain,
      "posix",
      "--sidecar",
      sidecar,
      root,
    ],
    { ROOT_ACCESS_KEY: S3_ACCESS.id, ROOT_SECRET_KEY: S3_ACCESS.secret },
  );
  return {
    port: server.port,
    root,
    bucket(name) {
      mkdirSync(join(root, name));
      return name;
    },
    stop: () => server.stop(),
  };
}
