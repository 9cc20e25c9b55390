import { createReadStream } from "node:fs";
import { finished, pipeline } from "node:stream/promises";
import type { Pack } from "tar-stream";

/** Same owner and time in every entry: an archive is a function of its content. */
const SAME = { uid: 0, gid: 0, uname: "root", gname: "root", mtime: new Date(0) } as const;

/** Content of a file, or the file that has it. */
export type Content = { readonly file: string } | Buffer;

/** Adds a folder. @param name path without the last slash */
export function addDirectory(tar: Pack, name: string, mode: number): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.entry({ ...SAME, name: `${name}/`, type: "directory", mode }, (failed) =>
      failed ? reject(failed) : resolve(),
    );
  });
}

/** Adds a file. @param size of its content in bytes */
export async function addFile(tar: Pack, name: string, mode: number, content: Content, size: number): Promise<void> {
  const entry = tar.entry({ ...SAME, name, type: "file", mode, size });
  if (Buffer.isBuffer(content)) {
    entry.end(content);
    await finished(entry);
  } else {
    await pipeline(createReadStream(content.file), entry);
  }
}
