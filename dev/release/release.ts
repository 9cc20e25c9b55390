import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Programs } from "../operator-image.ts";
import type { Platform } from "../plugin/platforms.ts";
import type { Note, Step } from "../progress.ts";
import type { Part } from "./parts.ts";
import { provenance } from "./provenance.ts";

/** What a release is made of, and where it is written. */
export interface Release {
  /** The repository. */
  readonly root: string;
  /** Folder of the release. */
  readonly folder: string;
  /** Version without `v`, such as 0.2.0. */
  readonly version: string;
  /** Full reference of the operator's image, `registry/repository:version`. */
  readonly image: string;
  /** Commit that the release is made of. */
  readonly commit: string;
  /** Whether files differ from the commit. */
  readonly isDirty: boolean;
  /** Time in all files: the commit's, unless SOURCE_DATE_EPOCH is set. */
  readonly created: Date;
  /** Operator and agent, for the image. */
  readonly programs: Programs;
  /** Others' packages in the image. */
  readonly parts: readonly Part[];
  /** Others' packages in all files of the release. */
  readonly inputs: readonly Part[];
  readonly plugin: {
    readonly platforms: readonly Platform[];
    /** Address of the folder from which its archives will be downloaded. Default: there is no manifest for Krew. */
    readonly url?: string;
  };
  /** Address of the repository for people. */
  readonly source?: string;
  /** Address of the site with the documentation, without a slash at its end. Default: alerts have no links. */
  readonly docs?: string;
}

/** A part of the release folder. */
export interface Artifact {
  /** Title of the step that makes it. */
  readonly title: string;
  /** Writes the files of the part to the release's folder. The same commit must give the same bytes. */
  readonly write: (release: Release, note: Note) => Promise<void> | void;
}

const PROVENANCE = "provenance.intoto.json";
const SUMS = "SHA256SUMS";

/** Writes all parts in their order, then the provenance statement and checksums of all files. */
export async function writeRelease(release: Release, artifacts: readonly Artifact[], step: Step): Promise<void> {
  mkdirSync(release.folder, { recursive: true });
  for (const { title, write } of artifacts) await step(title, async (note) => write(release, note));
  await step("provenance and checksums", async () => {
    const subjects = await filesOf(release.folder);
    writeText(release, PROVENANCE, `${JSON.stringify(provenance(release, subjects), undefined, 2)}\n`);
    const all = await filesOf(release.folder);
    writeText(release, SUMS, all.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join(""));
  });
}

/** Writes a file of the release. @param path from the release's folder */
export function writeText({ folder }: Pick<Release, "folder">, path: string, text: string | Buffer): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** A file with its hash. */
export interface HashedFile {
  /** Path from the release's folder. */
  readonly name: string;
  /** Hash in hexadecimal. */
  readonly sha256: string;
}

async function filesOf(folder: string): Promise<readonly HashedFile[]> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
  const files: HashedFile[] = [];
  for (const name of paths) {
    const hash = createHash("sha256");
    await pipeline(createReadStream(join(folder, name)), hash);
    files.push({ name, sha256: hash.digest("hex") });
  }
  return files;
}
