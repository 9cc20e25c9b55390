import { execFileSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished, pipeline } from "node:stream/promises";
import { type Pack, pack } from "tar-stream";

/** A file in an image. */
export interface ImageFile {
  /** Path on this machine; symbolic links are followed. */
  readonly from: string;
  /** Absolute path in the image. */
  readonly to: string;
  /** Permission bits, such as 0o755. */
  readonly mode: number;
}

export interface ImageSpec {
  /** Full reference, such as `registry/repository:tag`. */
  readonly name: string;
  /** Layers, lowest first. Lower layers hold files that change rarely. */
  readonly layers: readonly { readonly files: readonly ImageFile[] }[];
  readonly entrypoint: readonly string[];
  readonly cmd?: readonly string[];
  /** NAME → value. PATH is set when it is not given. */
  readonly env?: Readonly<Record<string, string>>;
  /** Numeric `uid` or `uid:gid`; root when it is not given. */
  readonly user?: string;
  readonly workdir?: string;
}

const OCI = "application/vnd.oci.image";
const ARCHITECTURE = process.arch === "x64" ? "amd64" : process.arch;

/**
 * Writes an OCI image archive for `ctr images import` and `docker load`. The same content makes the same bytes.
 * @param out path of the archive; it appears complete or not at all
 * @returns the digest of the image's manifest, `sha256:…`
 */
export async function writeImage(out: string, spec: ImageSpec): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "image-"));
  try {
    const layers: Blob[] = [];
    for (const [index, layer] of spec.layers.entries()) {
      layers.push(await writeLayer(join(folder, `layer-${index}`), layer.files, index === 0));
    }
    const config = json({
      architecture: ARCHITECTURE,
      os: "linux",
      created: "1970-01-01T00:00:00Z",
      config: {
        Entrypoint: spec.entrypoint,
        ...(spec.cmd === undefined ? {} : { Cmd: spec.cmd }),
        Env: Object.entries({ PATH: "/usr/local/bin:/usr/bin:/bin", ...spec.env }).map(
          ([name, value]) => `${name}=${value}`,
        ),
        ...(spec.user === undefined ? {} : { User: spec.user }),
        WorkingDir: spec.workdir ?? "/",
      },
      rootfs: { type: "layers", diff_ids: layers.map((layer) => layer.digest) },
    });
    const manifest = json({
      schemaVersion: 2,
      mediaType: `${OCI}.manifest.v1+json`,
      config: descriptor(`${OCI}.config.v1+json`, config),
      layers: layers.map((layer) => descriptor(`${OCI}.layer.v1.tar`, layer)),
    });
    const index = json({
      schemaVersion: 2,
      mediaType: `${OCI}.index.v1+json`,
      manifests: [
        { ...descriptor(`${OCI}.manifest.v1+json`, manifest), annotations: { "io.containerd.image.name": spec.name } },
      ],
    });
    await writeArchive(out, index, [config, manifest, ...layers]);
    return manifest.digest;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Shared libraries that a dynamically linked program needs in an otherwise empty image. */
export function sharedLibraries(program: string): ImageFile[] {
  const listed = execFileSync("ldd", [program], { encoding: "utf8" });
  // `libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x…)` or, for the loader, `/lib64/ld-linux-x86-64.so.2 (0x…)`.
  const paths = [...listed.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((match) => match[1] ?? "");
  return paths.map((path) => ({ from: path, to: path, mode: 0o755 }));
}

interface Blob {
  readonly digest: string;
  readonly size: number;
  /** Content, or the file that has it. */
  readonly content: { readonly file: string } | Buffer;
}

function json(value: unknown): Blob {
  const content = Buffer.from(JSON.stringify(value));
  return { digest: `sha256:${createHash("sha256").update(content).digest("hex")}`, size: content.length, content };
}

function descriptor(mediaType: string, blob: Blob) {
  return { mediaType, digest: blob.digest, size: blob.size };
}

async function writeLayer(file: string, files: readonly ImageFile[], isFirst: boolean): Promise<Blob> {
  const tar = pack();
  const hash = createHash("sha256");
  tar.on("data", (chunk) => hash.update(chunk as Buffer));
  const written = pipeline(tar, createWriteStream(file));
  const sorted = files.toSorted((a, b) => (a.to < b.to ? -1 : 1));
  for (const directory of directoriesOf(sorted)) await addDirectory(tar, directory, 0o755);
  if (isFirst) await addDirectory(tar, "tmp", 0o1777);
  for (const each of sorted)
    await addFile(tar, each.to.slice(1), each.mode, { file: each.from }, statSync(each.from).size);
  tar.finalize();
  await written;
  return { digest: `sha256:${hash.digest("hex")}`, size: statSync(file).size, content: { file } };
}

/** Every directory above the files, parents first. */
function directoriesOf(files: readonly ImageFile[]): string[] {
  const directories = new Set<string>();
  for (const { to } of files) {
    const parts = to.split("/").filter(Boolean).slice(0, -1);
    for (let depth = 1; depth <= parts.length; depth++) directories.add(parts.slice(0, depth).join("/"));
  }
  return [...directories].sort();
}

async function writeArchive(out: string, index: Blob, blobs: readonly Blob[]): Promise<void> {
  const draft = `${out}.${randomUUID()}`;
  try {
    await writeBlobs(draft, index, blobs);
    renameSync(draft, out);
  } finally {
    rmSync(draft, { force: true });
  }
}

async function writeBlobs(file: string, index: Blob, blobs: readonly Blob[]): Promise<void> {
  const tar = pack();
  const written = pipeline(tar, createWriteStream(file));
  await addFile(tar, "oci-layout", 0o644, Buffer.from('{"imageLayoutVersion":"1.0.0"}'), 30);
  await addFile(tar, "index.json", 0o644, index.content, index.size);
  const unique = new Map(blobs.map((blob) => [blob.digest, blob]));
  for (const blob of unique.values()) {
    await addFile(tar, `blobs/sha256/${blob.digest.slice("sha256:".length)}`, 0o644, blob.content, blob.size);
  }
  tar.finalize();
  await written;
}

// Same owner and time in every entry: the archive is a function of the content.
const SAME = { uid: 0, gid: 0, uname: "root", gname: "root", mtime: new Date(0) } as const;

function addDirectory(tar: Pack, name: string, mode: number): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.entry({ ...SAME, name: `${name}/`, type: "directory", mode }, (failed) =>
      failed ? reject(failed) : resolve(),
    );
  });
}

async function addFile(tar: Pack, name: string, mode: number, content: Blob["content"], size: number): Promise<void> {
  const entry = tar.entry({ ...SAME, name, type: "file", mode, size });
  if (Buffer.isBuffer(content)) {
    entry.end(content);
    await finished(entry);
  } else {
    await pipeline(createReadStream(content.file), entry);
  }
}
