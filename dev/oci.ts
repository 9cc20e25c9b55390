import { createHash, randomUUID } from "node:crypto";
import { createWriteStream, renameSync, rmSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { pack } from "tar-stream";
import { addFile, type Content } from "./tar.ts";

// Parts of OCI images: https://github.com/opencontainers/image-spec/blob/main/image-layout.md

const OCI = "application/vnd.oci.image";
export const INDEX_TYPE = `${OCI}.index.v1+json`;
export const MANIFEST_TYPE = `${OCI}.manifest.v1+json`;
export const CONFIG_TYPE = `${OCI}.config.v1+json`;
export const LAYER_TYPE = `${OCI}.layer.v1.tar`;
const EMPTY_TYPE = "application/vnd.oci.empty.v1+json";

/** Content that is stored under its digest. */
export interface Blob {
  /** `sha256:…` */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  readonly content: Content;
}

/** Reference to a blob from an index or a manifest. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly artifactType?: string;
  readonly platform?: { readonly architecture: string; readonly os: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Blob with this content. */
export function blobOf(content: Buffer): Blob {
  return { digest: `sha256:${createHash("sha256").update(content).digest("hex")}`, size: content.length, content };
}

/** Blob with this value as JSON. */
export function json(value: unknown): Blob {
  return blobOf(Buffer.from(JSON.stringify(value)));
}

/** Descriptor of a blob. */
export function descriptor(mediaType: string, { digest, size }: Blob): Descriptor {
  return { mediaType, digest, size };
}

/** A document about an image, such as its SBOM. */
export interface Attachment {
  /** Media type of the document. */
  readonly type: string;
  readonly content: Buffer;
}

/**
 * Manifest that attaches a document to an image as referrer:
 * https://github.com/opencontainers/image-spec/blob/main/manifest.md#guidelines-for-artifact-usage
 * @param subject the image
 */
export function referrer(
  subject: Descriptor,
  { type, content }: Attachment,
): { readonly descriptor: Descriptor; readonly blobs: readonly Blob[] } {
  const [document, empty] = [blobOf(content), json({})];
  const { mediaType, digest, size } = subject;
  const manifest = json({
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    artifactType: type,
    config: descriptor(EMPTY_TYPE, empty),
    layers: [descriptor(type, document)],
    subject: { mediaType, digest, size },
  });
  return {
    descriptor: { ...descriptor(MANIFEST_TYPE, manifest), artifactType: type },
    blobs: [document, empty, manifest],
  };
}

/**
 * Writes an archive with an OCI image layout. It appears complete or not at all.
 * @param manifests entries of the layout's index
 * @param blobs all content that the entries refer to
 */
export async function writeArchive(
  out: string,
  manifests: readonly Descriptor[],
  blobs: readonly Blob[],
): Promise<void> {
  const draft = `${out}.${randomUUID()}`;
  try {
    const index = json({ schemaVersion: 2, mediaType: INDEX_TYPE, manifests });
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
