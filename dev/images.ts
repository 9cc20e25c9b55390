import { createHash } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { cacheRoot } from "./cache.ts";
import { ensureComponents, mainBinary } from "./components.ts";
import { type ImageSpec, writeImage } from "./image.ts";
import type { Step } from "./progress.ts";
import type { ComponentName } from "./recipes.ts";
import { ETCD_VERSIONS, type EtcdVersion, PAUSE_VERSION } from "./versions.ts";

export const PAUSE_IMAGE = `localhost/pause:${PAUSE_VERSION}`;

/** The operator's default image of an etcd version. */
export function etcdImage(version: string): string {
  return `gcr.io/etcd-development/etcd:v${version}`;
}

/** An image in a file for `ctr images import`. */
export interface ImageArchive {
  readonly name: string;
  readonly file: string;
}

export const IMAGES_WRITTEN = "images of etcd written";

interface PlannedArchive extends ImageArchive {
  readonly component: ComponentName;
  readonly spec: ImageSpec;
}

/** Archives of the pause image and of one etcd image per version, which may not be written yet. */
export function imageArchives(versions: readonly EtcdVersion[]): PlannedArchive[] {
  const etcds = versions.map((version) => {
    const component = `etcd-${version}` as const;
    return { component, spec: etcdSpec(version, mainBinary(component)) };
  });
  const all = [{ component: "pause" as const, spec: pauseSpec(mainBinary("pause")) }, ...etcds];
  return all.map(({ component, spec }) => ({ component, spec, name: spec.name, file: archiveFile(component, spec) }));
}

/** Writes the archives of the pause image and of one etcd image per version, unless they are in the cache. */
export async function ensureImages(versions: readonly EtcdVersion[], step: Step): Promise<ImageArchive[]> {
  const archives = imageArchives(versions);
  await ensureComponents(
    archives.map(({ component }) => component),
    step,
  );
  const missing = archives.filter((archive) => !existsSync(archive.file));
  if (missing.length > 0) {
    await step(IMAGES_WRITTEN, async (note) => {
      for (const { spec, file } of missing) {
        note(spec.name);
        mkdirSync(dirname(file), { recursive: true });
        await writeImage(file, spec);
      }
    });
  }
  return archives.map(({ name, file }) => ({ name, file }));
}

function pauseSpec(binary: string): ImageSpec {
  return {
    name: PAUSE_IMAGE,
    layers: [{ files: [{ from: binary, to: "/pause", mode: 0o755 }] }],
    entrypoint: ["/pause"],
  };
}

/**
 * Writes an archive with the oldest etcd under another version's tag, for tests of an image that arrives late.
 * @param file path of the archive
 */
export async function writeEtcdImageAs(tag: string, file: string, step: Step): Promise<void> {
  const [version] = ETCD_VERSIONS;
  const name = `etcd-${version}` as const;
  const binaries = await ensureComponents([name], step);
  await writeImage(file, { ...etcdSpec(version, binaries[name]), name: etcdImage(tag) });
}

function etcdSpec(version: string, binary: string): ImageSpec {
  const files = ["etcd", "etcdctl", "etcdutl"].map((name) => ({
    from: join(dirname(binary), name),
    to: `/usr/local/bin/${name}`,
    mode: 0o755,
  }));
  // As in etcd's own images: no entrypoint, and etcd as the command.
  return { name: etcdImage(version), layers: [{ files }], entrypoint: [], cmd: ["/usr/local/bin/etcd"] };
}

/** Path of an archive, named by a hash of its spec: the binaries' paths in it are named by hashes of their sources. */
function archiveFile(component: ComponentName, spec: ImageSpec): string {
  const fingerprint = createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 12);
  return join(cacheRoot(), "images", basename(`${component}-${fingerprint}.tar`));
}
