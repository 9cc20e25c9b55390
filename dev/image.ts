import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { pack } from "tar-stream";
import {
  type Attachment,
  type Blob,
  CONFIG_TYPE,
  type Descriptor,
  descriptor,
  INDEX_TYPE,
  json,
  LAYER_TYPE,
  MANIFEST_TYPE,
  referrer,
  writeArchive,
} from "./oci.ts";
import { addDirectory, addFile } from "./tar.ts";

/** A file in an image. */
export interface ImageFile {
  /** Path on this machine; symbolic links are followed. */
  readonly from: string;
  /** Absolute path in the image. */
  readonly to: string;
  /** Permission bits, such as 0o755. */
  readonly mode: number;
}

/** Processor architecture as images name it. */
export type Architecture = "amd64" | "arm64";

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
  readonly labels?: Readonly<Record<string, string>>;
  /** Default: 1970, so that images with the same content are the same. */
  readonly created?: Date;
}

/** Architecture of this machine. */
export const OWN_ARCHITECTURE = (process.arch === "x64" ? "amd64" : process.arch) as Architecture;

/** Annotation with which containerd names an imported image. */
const CONTAINERD_NAME = "io.containerd.image.name";
/** Annotation with which other programs find an image in an archive: its tag. */
const REF_NAME = "org.opencontainers.image.ref.name";

/**
 * Writes an OCI image archive for `ctr images import` and `docker load`. The same content makes the same bytes.
 * @param out path of the archive; it appears complete or not at all
 * @returns the digest of the image's manifest, `sha256:…`
 */
export function writeImage(out: string, spec: ImageSpec): Promise<string> {
  return inFolder(async (folder) => {
    const image = await imageOf(folder, spec, OWN_ARCHITECTURE, false);
    const named = { ...image.descriptor, annotations: { [CONTAINERD_NAME]: spec.name } };
    await writeArchive(out, [named], image.blobs);
    return image.descriptor.digest;
  });
}

/** An image for several architectures, with documents about it. */
export interface IndexSpec {
  /** Full reference, `registry/repository:tag`. */
  readonly name: string;
  /** The image of each architecture. */
  readonly images: Readonly<Record<Architecture, Omit<ImageSpec, "name">>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Documents about the image with this digest, `sha256:…`. */
  readonly attachments: (digest: string) => readonly Attachment[];
}

/**
 * Writes an archive with an OCI image index, compressed layers and referrers. The same content makes the same bytes.
 * @param out path of the archive; it appears complete or not at all
 * @param onImage called before an architecture's layers are compressed, which takes seconds
 * @returns the digest of the index, `sha256:…`
 */
export function writeImageIndex(
  out: string,
  { name, images, annotations, attachments }: IndexSpec,
  onImage: (architecture: Architecture) => void = () => {},
): Promise<string> {
  return inFolder(async (folder) => {
    const made: Awaited<ReturnType<typeof imageOf>>[] = [];
    for (const architecture of Object.keys(images).sort() as Architecture[]) {
      onImage(architecture);
      made.push(await imageOf(folder, { ...images[architecture], name }, architecture, true));
    }
    const manifests = made.map((each) => each.descriptor);
    const index = json({ schemaVersion: 2, mediaType: INDEX_TYPE, manifests, annotations });
    const subject = descriptor(INDEX_TYPE, index);
    const referrers = attachments(index.digest).map((each) => referrer(subject, each));
    const tag = name.slice(name.lastIndexOf(":") + 1);
    await writeArchive(
      out,
      [
        { ...subject, annotations: { [CONTAINERD_NAME]: name, [REF_NAME]: tag } },
        ...referrers.map((each) => each.descriptor),
      ],
      [index, ...made.flatMap(({ blobs }) => blobs), ...referrers.flatMap(({ blobs }) => blobs)],
    );
    return index.digest;
  });
}

/** Shared libraries that a dynamically linked program needs in an otherwise empty image. */
export function sharedLibraries(program: string): ImageFile[] {
  const listed = execFileSync("ldd", [program], { encoding: "utf8" });
  // `libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x…)` or, for the loader, `/lib64/ld-linux-x86-64.so.2 (0x…)`.
  const paths = [...listed.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((match) => match[1] ?? "");
  return paths.map((path) => ({ from: path, to: path, mode: 0o755 }));
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "image-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Manifest of an image, and the blobs that it consists of. Its layers are written to the folder. */
async function imageOf(
  folder: string,
  spec: ImageSpec,
  architecture: Architecture,
  isCompressed: boolean,
): Promise<{ readonly descriptor: Descriptor; readonly blobs: readonly Blob[] }> {
  const layers: Layer[] = [];
  for (const [index, layer] of spec.layers.entries()) {
    const file = join(folder, `${architecture}-${index}`);
    layers.push(await writeLayer(file, layer.files, index === 0, isCompressed));
  }
  const config = json({
    architecture,
    os: "linux",
    created: timestamp(spec.created ?? new Date(0)),
    config: {
      Entrypoint: spec.entrypoint,
      ...(spec.cmd === undefined ? {} : { Cmd: spec.cmd }),
      Env: Object.entries({ PATH: "/usr/local/bin:/usr/bin:/bin", ...spec.env }).map(
        ([name, value]) => `${name}=${value}`,
      ),
      ...(spec.user === undefined ? {} : { User: spec.user }),
      WorkingDir: spec.workdir ?? "/",
      ...(spec.labels === undefined ? {} : { Labels: spec.labels }),
    },
    rootfs: { type: "layers", diff_ids: layers.map((layer) => layer.plainDigest) },
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: descriptor(CONFIG_TYPE, config),
    layers: layers.map((layer) => descriptor(isCompressed ? `${LAYER_TYPE}+gzip` : LAYER_TYPE, layer)),
    ...(spec.labels === undefined ? {} : { annotations: spec.labels }),
  });
  return {
    descriptor: { ...descriptor(MANIFEST_TYPE, manifest), platform: { architecture, os: "linux" } },
    blobs: [config, manifest, ...layers],
  };
}

/** Time as images have it: RFC 3339 without fractions of a second. */
export function timestamp(time: Date): string {
  return time.toISOString().replace(/\.\d+/, "");
}

interface Layer extends Blob {
  /** Digest before compression. */
  readonly plainDigest: string;
}

async function writeLayer(
  file: string,
  files: readonly ImageFile[],
  isFirst: boolean,
  isCompressed: boolean,
): Promise<Layer> {
  const tar = pack();
  const plain = createHash("sha256");
  tar.on("data", (chunk) => plain.update(chunk as Buffer));
  const stored = isCompressed ? createGzip() : new PassThrough();
  const hash = createHash("sha256");
  stored.on("data", (chunk) => hash.update(chunk as Buffer));
  const written = pipeline(tar, stored, createWriteStream(file));
  const sorted = files.toSorted((a, b) => (a.to < b.to ? -1 : 1));
  for (const directory of directoriesOf(sorted)) await addDirectory(tar, directory, 0o755);
  if (isFirst) await addDirectory(tar, "tmp", 0o1777);
  for (const each of sorted)
    await addFile(tar, each.to.slice(1), each.mode, { file: each.from }, statSync(each.from).size);
  tar.finalize();
  await written;
  const digest = `sha256:${hash.digest("hex")}`;
  return { digest, plainDigest: `sha256:${plain.digest("hex")}`, size: statSync(file).size, content: { file } };
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
