import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { pack } from "tar-stream";
import { OPERATOR } from "#api/names.ts";
import { chartFiles } from "../../scripts/chart/chart.ts";
import { crdManifests, operatorManifests } from "../../scripts/manifests.ts";
import { withRunbooks } from "../../scripts/monitoring/rules.ts";
import { yamlOf } from "../../scripts/yaml.ts";
import { addFile } from "../tar.ts";
import { type Release, writeText } from "./release.ts";

/** Writes operator.yaml, which installs everything, and crds.yaml with only the definitions. */
export function writeManifests(release: Release): void {
  writeText(release, "operator.yaml", yamlOf([...crdManifests(), ...operatorManifests(release.image)]));
  writeText(release, "crds.yaml", yamlOf(crdManifests()));
}

/** Writes the Helm chart as the archive that `helm package` would write. */
export async function writeChart({ version, image, folder, docs }: Release): Promise<void> {
  const tar = pack();
  const written = pipeline(tar, createGzip(), createWriteStream(join(folder, `${OPERATOR}-${version}.tgz`)));
  for (const [path, text] of chartFiles(version, image)) {
    const content = Buffer.from(withRunbooks(text, docs));
    await addFile(tar, `${OPERATOR}/${path}`, 0o644, content, content.length);
  }
  tar.finalize();
  await written;
}
