import { createReadStream, createWriteStream, renameSync, rmSync, statSync } from "node:fs";
import { finished, pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import { type Pack, pack } from "tar-stream";

/** Text of a file, or the file that has its content. */
export type Content = string | { readonly file: string };

/** A file in an archive. */
export interface Entry {
  readonly name: string;
  /** Permission bits, such as 0o755. */
  readonly mode: number;
  readonly content: Content;
}

/** Same owner and time in every entry: an archive is a function of its content. */
const SAME = { type: "file", uid: 0, gid: 0, uname: "root", gname: "root", mtime: new Date(0) } as const;

/**
 * Writes a compressed tar archive. The same entries make the same bytes, with the same release of Node. The file appears
 * when it is whole.
 */
export async function writeArchive(out: string, entries: readonly Entry[]): Promise<void> {
  const tar = pack();
  const draft = `${out}.draft`;
  // Node's gzip has no time in its header.
  const written = pipeline(tar, createGzip({ level: constants.Z_DEFAULT_COMPRESSION }), createWriteStream(draft));
  try {
    const added = addAll(tar, entries).catch((thrown: Error) => {
      tar.destroy(thrown);
      throw thrown;
    });
    await Promise.all([added, written]);
    renameSync(draft, out);
  } finally {
    rmSync(draft, { force: true });
  }
}

async function addAll(tar: Pack, entries: readonly Entry[]): Promise<void> {
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) await add(tar, entry);
  tar.finalize();
}

async function add(tar: Pack, { name, mode, content }: Entry): Promise<void> {
  if (typeof content === "string") {
    const bytes = Buffer.from(content);
    const entry = tar.entry({ ...SAME, name, mode, size: bytes.length });
    entry.end(bytes);
    await finished(entry);
  } else {
    const entry = tar.entry({ ...SAME, name, mode, size: statSync(content.file).size });
    await pipeline(createReadStream(content.file), entry);
  }
}
