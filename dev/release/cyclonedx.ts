import { Factories } from "@cyclonedx/cyclonedx-library/Contrib/License";
import { ComponentType, HashAlgorithm } from "@cyclonedx/cyclonedx-library/Enums";
import { Bom, Component, HashDictionary, LicenseRepository, Metadata } from "@cyclonedx/cyclonedx-library/Models";
import { JSON as Json, JsonSerializer } from "@cyclonedx/cyclonedx-library/Serialize";
import { Spec1dot6 } from "@cyclonedx/cyclonedx-library/Spec";
import parseExpression from "spdx-expression-parse";
import { OPERATOR } from "#api/names.ts";
import type { Part } from "./parts.ts";
import type { Release } from "./release.ts";

const HASHES = { "SHA-256": HashAlgorithm["SHA-256"], "SHA-512": HashAlgorithm["SHA-512"] };

/** SBOM of the operator's image: https://cyclonedx.org/docs/1.6/json/ */
export function cycloneDx({ version, created }: Release, parts: readonly Part[]): string {
  const license = new Factories.LicenseFactory(parseExpression);
  const operator = new Component(ComponentType.Container, OPERATOR, {
    version,
    bomRef: OPERATOR,
    licenses: new LicenseRepository([license.makeFromString("Apache-2.0")]),
  });
  const bom = new Bom({ metadata: new Metadata({ timestamp: created, component: operator }) });
  for (const part of parts) {
    const component = new Component(ComponentType.Library, part.name, {
      version: part.version,
      purl: part.purl,
      bomRef: part.purl,
      hashes: new HashDictionary([[HASHES[part.hash.algorithm], part.hash.hex]]),
      ...(part.license === undefined
        ? {}
        : { licenses: new LicenseRepository([license.makeFromString(part.license)]) }),
      ...(part.cpe === undefined ? {} : { cpe: part.cpe as `cpe:2.3:${string}` }),
    });
    bom.components.add(component);
    operator.dependencies.add(component.bomRef);
  }
  const serializer = new JsonSerializer(new Json.Normalize.Factory(Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}
