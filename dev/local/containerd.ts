// Calls to a running containerd.

import { connect } from "node:net";
import { dirname, join } from "node:path";
import type { ImageArchive } from "../images.ts";
import { run } from "../run.ts";

/** Reason why containerd does not serve at the socket, as a clause; undefined when it does. */
export function socketMissing(socket: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const client = connect(socket);
    client.once("connect", () => {
      client.destroy();
      resolve(undefined);
    });
    client.once("error", () => resolve("its socket does not answer"));
  });
}

/** Imports missing images. @param containerd path of the binary, in the folder of ctr */
export async function importImages(socket: string, containerd: string, images: readonly ImageArchive[]): Promise<void> {
  const there = new Set(await imagesIn(socket, containerd));
  for (const image of images) {
    if (!there.has(image.name)) await importArchive(socket, containerd, image.file);
  }
}

/** Names of all images, without the digests under which the runtime lists each once more. */
export async function imagesIn(socket: string, containerd: string): Promise<string[]> {
  const listed = await ctr(socket, containerd, ["images", "ls", "-q"]);
  return listed.split("\n").filter((name) => name !== "" && !name.startsWith("sha256:"));
}

export async function importArchive(socket: string, containerd: string, archive: string): Promise<void> {
  // From standard input: the node cannot see the archive's folder.
  await ctr(socket, containerd, ["images", "import", "-"], archive);
}

async function ctr(socket: string, containerd: string, args: readonly string[], inputFile?: string): Promise<string> {
  const all = ["--address", socket, "--namespace", "k8s.io", ...args];
  return (await run(join(dirname(containerd), "ctr"), all, inputFile === undefined ? {} : { inputFile })).stdout;
}
