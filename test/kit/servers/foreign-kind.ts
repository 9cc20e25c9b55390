import { type AnyResource, type CustomResourceDefinition, type Draft, resourceName } from "#kube/kinds.ts";

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** A minimal definition of a kind of another project, instead of that project's much longer one. */
export function definitionOf(of: AnyResource): Draft<CustomResourceDefinition> {
  const { group, version: name, kind, plural } = of;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: resourceName(of) },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec: anything } } },
        },
      ],
    },
  };
}
