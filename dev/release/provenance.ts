import { GROUP } from "#api/names.ts";
import type { HashedFile, Release } from "./release.ts";

/**
 * Statement of what files were made of: https://slsa.dev/spec/v1.0/provenance. It has no times of its own, so that the
 * same commit gives the same statement. It proves something only when it is signed.
 */
export function provenance(release: Release, subjects: readonly HashedFile[]) {
  const { version, image, commit, isDirty, source, docs, inputs, plugin } = release;
  // The variable of the same name gives these times again, whether it was set or the commit's time was taken.
  const SOURCE_DATE_EPOCH = String(release.created.getTime() / 1000);
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: `https://${GROUP}/release/v1`,
        externalParameters: {
          ...{ version, image, source, docs, isDirty, SOURCE_DATE_EPOCH },
          pluginUrl: plugin.url,
          pluginPlatforms: plugin.platforms.map(({ os, arch }) => `${os}/${arch}`),
        },
        resolvedDependencies: [
          { ...(source === undefined ? {} : { uri: `git+${source}` }), digest: { gitCommit: commit } },
          ...inputs.map(({ purl, hash }) => ({
            uri: purl,
            digest: { [hash.algorithm.replace("-", "").toLowerCase()]: hash.hex },
          })),
        ],
      },
      runDetails: { builder: { id: `https://${GROUP}/release/local` } },
    },
  };
}
