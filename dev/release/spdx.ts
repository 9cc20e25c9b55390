import { GROUP, OPERATOR } from "#api/names.ts";
import { timestamp } from "../image.ts";
import type { Part } from "./parts.ts";
import type { Release } from "./release.ts";

const NO_ASSERTION = "NOASSERTION";

/** SBOM of the operator's image: https://spdx.github.io/spdx-spec/v2.3/ */
export function spdx({ version, commit, created }: Release, parts: readonly Part[]): string {
  const own = `SPDXRef-${OPERATOR}`;
  const packages = parts.map((part, index) => ({ ...packageOf(part), SPDXID: `SPDXRef-Package-${index + 1}` }));
  const document = {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `${OPERATOR}-${version}`,
    // It must be unique, and need not exist.
    documentNamespace: `https://${GROUP}/spdx/${OPERATOR}-${version}-${commit}`,
    creationInfo: { created: timestamp(created), creators: [`Tool: ${OPERATOR}-release-${version}`] },
    packages: [
      {
        name: OPERATOR,
        SPDXID: own,
        versionInfo: version,
        downloadLocation: NO_ASSERTION,
        filesAnalyzed: false,
        licenseConcluded: NO_ASSERTION,
        licenseDeclared: "Apache-2.0",
        copyrightText: NO_ASSERTION,
        primaryPackagePurpose: "CONTAINER",
      },
      ...packages,
    ],
    relationships: [
      { spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: own },
      ...packages.map(({ SPDXID }) => ({
        spdxElementId: own,
        relationshipType: "CONTAINS",
        relatedSpdxElement: SPDXID,
      })),
    ],
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function packageOf({ name, version, purl, license, hash, cpe }: Part) {
  const reference = (referenceCategory: string, referenceType: string, referenceLocator: string) => ({
    referenceCategory,
    referenceType,
    referenceLocator,
  });
  return {
    name,
    versionInfo: version,
    downloadLocation: NO_ASSERTION,
    filesAnalyzed: false,
    checksums: [{ algorithm: hash.algorithm.replace("-", ""), checksumValue: hash.hex }],
    licenseConcluded: NO_ASSERTION,
    licenseDeclared: license ?? NO_ASSERTION,
    copyrightText: NO_ASSERTION,
    externalRefs: [
      reference("PACKAGE-MANAGER", "purl", purl),
      ...(cpe === undefined ? [] : [reference("SECURITY", "cpe23Type", cpe)]),
    ],
  };
}
