import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  type Dirent,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { cacheRoot } from "../cache.ts";
import type { ImageArchive } from "../images.ts";
import { withLock } from "../lock.ts";
import { identify } from "../proc.ts";
import type { Step } from "../progress.ts";
import { importImages, socketMissing } from "./containerd.ts";
import { kill, spawnLogged, waitReady } from "./processes.ts";
import { RUN_ROOT } from "./slots.ts";

// Why a store? Importing and unpacking the same images on every node of every instance costs seconds of both processors
// and a gigabyte of disk. So a containerd does it once, in a folder of its own, and a node starts with hard links to
// that folder's files. They are never written to: blobs are named by their content, and an unpacked layer is only the
// lower part of an overlay. The databases, which change, are copied.

const NEVER_WRITTEN = ["io.containerd.content.v1.content/blobs", "io.containerd.snapshotter.v1.overlayfs/snapshots"];

export const STORE_MADE = "images unpacked, once for all nodes";

/** Folder of the store for these images, which may not exist yet. */
export function storeFolder(containerd: string, images: readonly ImageArchive[]): string {
  return join(cacheRoot(), "image-stores", fingerprint(containerd, images));
}

/** Makes the store for these images, unless it is in the cache. @returns its folder */
export function ensureImageStore(containerd: string, images: readonly ImageArchive[], step: Step): Promise<string> {
  const store = storeFolder(containerd, images);
  if (existsSync(store)) return Promise.resolve(store);
  return step(STORE_MADE, (note) =>
    withLock(
      join(cacheRoot(), "image-store.lock"),
      async () => {
        if (existsSync(store)) return store;
        const draft = join(dirname(store), ".draft");
        rmSync(draft, { recursive: true, force: true });
        mkdirSync(draft, { recursive: true });
        await importInto(draft, containerd, images);
        renameSync(join(draft, "root"), store);
        rmSync(draft, { recursive: true });
        return store;
      },
      { onWait: (pid) => note(`process ${pid} is making it`) },
    ),
  );
}

/** Fills a node's containerd folder from the store. Does nothing when the two are not on one file system. */
export function copyStore(store: string, target: string): void {
  try {
    copyFolder(store, target, "");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "EXDEV") throw thrown;
    // The node starts without images, and imports them itself.
    rmSync(target, { recursive: true });
    mkdirSync(target);
  }
}

function fingerprint(containerd: string, images: readonly ImageArchive[]): string {
  // Names of archives and binaries contain hashes of their sources.
  const files = images.map((image) => image.file);
  return createHash("sha256")
    .update(JSON.stringify([containerd, ...files]))
    .digest("hex")
    .slice(0, 12);
}

async function importInto(draft: string, containerd: string, images: readonly ImageArchive[]): Promise<void> {
  const run = join(RUN_ROOT, "image-store");
  rmSync(run, { recursive: true, force: true });
  mkdirSync(run, { recursive: true });
  const socket = join(run, "containerd.sock");
  const config = join(draft, "containerd.toml");
  writeFileSync(config, storeConfig(join(draft, "root"), join(run, "state"), socket));
  // In a mount namespace of its own; it ends when this process ends.
  const argv = ["unshare", "--mount", "setpriv", "--pdeathsig", "KILL", containerd, "--config", config];
  const server = await spawnLogged("containerd of the image store", argv, join(draft, "containerd.log"));
  try {
    await waitReady(server, () => socketMissing(socket));
    await importImages(socket, containerd, images);
    process.kill(server.pid, "SIGTERM");
    // Its databases are complete only when it has ended by itself.
    await waitReady(server, () => (identify(server.pid) === undefined ? undefined : "containerd does not end"), 10_000);
  } finally {
    await kill([server]);
    rmSync(run, { recursive: true, force: true });
  }
}

function storeConfig(root: string, state: string, socket: string): string {
  return `version = 3
root = "${root}"
state = "${state}"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images", "io.containerd.snapshotter.v1.btrfs", "io.containerd.nri.v1.nri"]
[grpc]
  address = "${socket}"
`;
}

function copyFolder(from: string, to: string, path: string): void {
  mkdirSync(join(to, path), { recursive: true });
  chmodSync(join(to, path), lstatSync(join(from, path)).mode & 0o7777);
  for (const entry of readdirSync(join(from, path), { withFileTypes: true }))
    copyEntry(from, to, join(path, entry.name), entry);
}

function copyEntry(from: string, to: string, path: string, entry: Dirent): void {
  const [source, target] = [join(from, path), join(to, path)];
  if (entry.isDirectory()) copyFolder(from, to, path);
  else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
  else if (NEVER_WRITTEN.some((folder) => path.startsWith(`${folder}/`))) linkSync(source, target);
  else if (entry.isFile()) copyFileSync(source, target);
}
