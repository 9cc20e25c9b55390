import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { changes } from "./changelog.ts";
import { writeReleaseImage } from "./image.ts";
import { writeKustomize } from "./kustomize.ts";
import { writeChart, writeManifests } from "./manifests.ts";
import { writePlugin } from "./plugin.ts";
import { type Artifact, type Release, writeText } from "./release.ts";

/** All parts of a release, in the order in which they are made. A new part needs only a line here. */
export const ARTIFACTS: readonly Artifact[] = [
  { title: "manifests", write: writeManifests },
  { title: "kustomize base and components", write: writeKustomize },
  { title: "Helm chart", write: writeChart },
  { title: "image for amd64 and arm64, with SBOMs", write: writeReleaseImage },
  { title: "kubectl plugin", write: writePlugin },
  { title: "changes and licence", write: writeWords },
];

function writeWords(release: Release): void {
  writeText(release, "CHANGELOG.md", `${changes(release.root, release.version)}\n`);
  copyFileSync(join(release.root, "LICENSE"), join(release.folder, "LICENSE"));
}
