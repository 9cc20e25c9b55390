import { OPERATOR } from "#api/names.ts";
import { type Architecture, timestamp, writeImageIndex } from "../image.ts";
import { contentOf } from "../operator-image.ts";
import { pinnedBase } from "../pinned/base.ts";
import type { Note } from "../progress.ts";
import { cycloneDx } from "./cyclonedx.ts";
import { provenance } from "./provenance.ts";
import { type Release, writeText } from "./release.ts";
import { spdx } from "./spdx.ts";

/** Files about the image, by media type: attached to it in a registry, and in the folder. */
const SBOMS = {
  "application/vnd.cyclonedx+json": { file: "sbom.cdx.json", make: cycloneDx },
  "application/spdx+json": { file: "sbom.spdx.json", make: spdx },
};

/**
 * Writes the operator's image for amd64 and arm64, its digest and its SBOMs. The archive also has SBOMs and a provenance
 * statement as referrers.
 */
export async function writeReleaseImage(release: Release, note: Note): Promise<void> {
  const { root, folder, version, image, programs, parts } = release;
  const sboms = Object.entries(SBOMS).map(([type, { file, make }]) => {
    const text = make(release, parts);
    writeText(release, file, text);
    return { type, content: Buffer.from(text) };
  });
  const made = async (architecture: Architecture) => ({
    ...contentOf(await pinnedBase(root, architecture, note), programs),
    created: release.created,
    labels: labelsOf(release),
  });
  const spec = {
    name: image,
    images: { amd64: await made("amd64"), arm64: await made("arm64") },
    annotations: labelsOf(release),
    attachments: (digest: string) => {
      const subject = { name: repositoryOf(image), sha256: digest.replace("sha256:", "") };
      const statement = JSON.stringify(provenance(release, [subject]));
      return [...sboms, { type: "application/vnd.in-toto+json", content: Buffer.from(statement) }];
    },
  };
  const digest = await writeImageIndex(`${folder}/${imageArchive(version)}`, spec, (architecture) =>
    note(`compressing ${architecture}`),
  );
  writeText(release, "image-digest.txt", `${digest}\n`);
}

/** Name of the archive with the image. */
export function imageArchive(version: string): string {
  return `${OPERATOR}-${version}-image.tar`;
}

function repositoryOf(image: string): string {
  return image.slice(0, image.lastIndexOf(":"));
}

/** https://github.com/opencontainers/image-spec/blob/main/annotations.md */
function labelsOf({ version, commit, isDirty, created, source }: Release): Readonly<Record<string, string>> {
  const labels = {
    title: OPERATOR,
    description: "A Kubernetes operator for etcd",
    version,
    revision: isDirty ? `${commit}-dirty` : commit,
    created: timestamp(created),
    licenses: "Apache-2.0",
    ...(source === undefined ? {} : { source }),
  };
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`org.opencontainers.image.${name}`, value]));
}
