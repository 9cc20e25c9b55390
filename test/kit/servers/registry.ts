import { ensureComponents } from "#dev/components.ts";
import { silentStep } from "#dev/progress.ts";
import { run } from "#dev/run.ts";
import { type StoreServer, startStoreServer } from "./store-server.ts";

/** A registry of images in its own process, and a client of it. */
export interface Registry extends StoreServer {
  /** `127.0.0.1:PORT`, the start of its images' names. */
  readonly host: string;
  /** Runs oras over plain HTTP. @returns its output */
  oras(...args: readonly string[]): Promise<string>;
  /** Content at a path of the registry's API: https://github.com/opencontainers/distribution-spec */
  read(path: string): Promise<Buffer>;
}

/** The registry of go-containerregistry, which keeps images in memory. */
export async function startRegistry(): Promise<Registry> {
  const { registry, oras } = await ensureComponents(["registry", "oras"], silentStep);
  const server = await startStoreServer((port) => [registry, `127.0.0.1:${port}`]);
  const host = `127.0.0.1:${server.port}`;
  return {
    ...server,
    host,
    oras: async (command, ...args) => (await run(oras, [command ?? "", "--no-tty", ...args])).stdout,
    read: async (path) => {
      const response = await fetch(`http://${host}/v2/${path}`);
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return Buffer.from(await response.arrayBuffer());
    },
  };
}

/**
 * Manifests of the documents that are attached to an image. Their types come from the manifests: this registry's list
 * has the type of the empty configuration instead.
 */
export async function referrersOf(registry: Registry, repository: string, digest: string) {
  const { manifests } = JSON.parse(String(await registry.read(`${repository}/referrers/${digest}`))) as {
    manifests: readonly { readonly digest: string }[];
  };
  const read = manifests.map((each) => registry.read(`${repository}/manifests/${each.digest}`));
  return (await Promise.all(read)).map((content) => JSON.parse(String(content)) as Referrer);
}

interface Referrer {
  readonly artifactType: string;
  readonly subject: { readonly digest: string };
  readonly layers: readonly { readonly digest: string }[];
}
