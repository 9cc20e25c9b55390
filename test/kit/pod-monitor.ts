import { type CustomResourceDefinition, type Draft, POD_MONITORS, resourceName } from "#kube/kinds.ts";

const { group, version: name, kind, plural } = POD_MONITORS;
const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** By this an API server knows PodMonitors. It is ours: that of the Prometheus Operator says much more. */
export const POD_MONITOR_DEFINITION: Draft<CustomResourceDefinition> = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: resourceName(POD_MONITORS) },
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
