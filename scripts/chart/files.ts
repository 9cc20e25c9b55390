import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Document, isMap, isScalar, parse, stringify, type YAMLMap } from "yaml";
import { z } from "zod";
import { OPERATOR } from "#api/names.ts";
import { crdManifests } from "../manifests.ts";
import type { valuesSchema } from "./values.ts";

// Chart.yaml and values.yaml of the Helm chart.

/** EtcdCluster that Artifact Hub shows. */
const EXAMPLE = join(import.meta.dirname, "../../examples/quickstart.yaml");

interface Definition {
  readonly names: { readonly kind: string };
  readonly versions: readonly {
    readonly name: string;
    readonly storage: boolean;
    readonly schema: { readonly openAPIV3Schema: { readonly description?: string } };
  }[];
}

/** Chart.yaml. @param version of the operator @param image its image, with tag */
export function chartYaml(version: string, image: string): string {
  const crds = crdManifests().map(({ metadata, spec }) => {
    const { names, versions } = spec as Definition;
    const stored = versions.find(({ storage }) => storage);
    const description = stored?.schema.openAPIV3Schema.description ?? names.kind;
    return { kind: names.kind, version: stored?.name, name: metadata.name, displayName: names.kind, description };
  });
  // https://artifacthub.io/docs/topics/annotations/helm/
  const annotations = {
    "artifacthub.io/category": "database",
    "artifacthub.io/license": "Apache-2.0",
    "artifacthub.io/operator": "true",
    "artifacthub.io/operatorCapabilities": "Full Lifecycle",
    "artifacthub.io/crds": stringify(crds, { lineWidth: 0 }),
    "artifacthub.io/crdsExamples": stringify([parse(readFileSync(EXAMPLE, "utf8"))], { lineWidth: 0 }),
    "artifacthub.io/images": stringify([{ name: OPERATOR, image }], { lineWidth: 0 }),
  };
  const metadata = {
    apiVersion: "v2",
    name: OPERATOR,
    description: "An operator for etcd: it creates, scales, heals, upgrades, secures, backs up and restores clusters.",
    type: "application",
    version,
    appVersion: version,
    // Admission policies in CEL: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
    kubeVersion: ">=1.30.0-0",
    keywords: ["etcd", "operator"],
    annotations,
  };
  return stringify(metadata, { lineWidth: 0 });
}

/** values.yaml: each value with its default, and its description as a comment. */
export function valuesYaml(schema: ReturnType<typeof valuesSchema>): string {
  const document = new Document(schema.parse({}));
  comment(document.contents as unknown as YAMLMap, schema);
  return document.toString({ lineWidth: 0 });
}

function comment(map: YAMLMap, schema: z.ZodObject, depth = 0): void {
  for (const [index, { key, value }] of map.items.entries()) {
    if (!isScalar(key)) continue;
    const field = schema.shape[String(key.value)] as z.ZodType | undefined;
    const text = field === undefined ? undefined : z.globalRegistry.get(field)?.description;
    if (text !== undefined) key.commentBefore = ` ${text}`;
    if (index > 0 && depth === 0) key.spaceBefore = true;
    const inner = unwrapped(field);
    if (isMap(value) && inner instanceof z.ZodObject) comment(value, inner, depth + 1);
  }
}

/** The schema without default values. */
function unwrapped(schema: z.ZodType | undefined): z.ZodType | undefined {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
    ? unwrapped(schema.unwrap() as z.ZodType)
    : schema;
}
