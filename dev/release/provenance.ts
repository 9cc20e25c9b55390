import { GROUP } from "#api/names.ts";
import { partsOf } from "./parts.ts";
import type { HashedFile, Release } from "./release.ts";

/**
 * Statement of what files were made of: https://slsa.dev/spec/v1.0/provenance. It has no times of its own, so that the
 * same commit gives the same statement. It proves something only when it is signed.
 */
export function provenance(release: Release, subjects: readonly HashedFile[]) {
  const { root, version, image, commit, isDirty, source } = release;
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: `https://${GROUP}/release/v1`,
        externalParameters: { version, image, isDirty },
        resolvedDependencies: [
          { ...(source === undefined ? {} : { uri: `git+${source}` }), digest: { gitCommit: commit } },
          ...partsOf(root, []).map(({ purl, hash }) => ({
            uri: purl,
            digest: { [hash.algorithm.replace("-", "").toLowerCase()]: hash.hex },
          })),
        ],
      },
      runDetails: { builder: { id: `https://${GROUP}/release/local` } },
    },
  };
}
