/**
 * Merge keys of lists in a pod template: `x-kubernetes-patch-merge-key` in Kubernetes' OpenAPI document
 * (test/apiserver/pod-template.test.ts compares them). All other lists are replaced as a whole.
 */
export const MERGE_KEYS: Readonly<Record<string, string>> = {
  "metadata.ownerReferences": "uid",
  "spec.containers": "name",
  "spec.containers.env": "name",
  "spec.containers.ports": "containerPort",
  "spec.containers.volumeDevices": "devicePath",
  "spec.containers.volumeMounts": "mountPath",
  "spec.ephemeralContainers": "name",
  "spec.ephemeralContainers.env": "name",
  "spec.ephemeralContainers.ports": "containerPort",
  "spec.ephemeralContainers.volumeDevices": "devicePath",
  "spec.ephemeralContainers.volumeMounts": "mountPath",
  "spec.hostAliases": "ip",
  "spec.imagePullSecrets": "name",
  "spec.initContainers": "name",
  "spec.initContainers.env": "name",
  "spec.initContainers.ports": "containerPort",
  "spec.initContainers.volumeDevices": "devicePath",
  "spec.initContainers.volumeMounts": "mountPath",
  "spec.resourceClaims": "name",
  "spec.schedulingGates": "name",
  "spec.topologySpreadConstraints": "topologyKey",
  "spec.volumes": "name",
  "spec.volumes.ephemeral.volumeClaimTemplate.metadata.ownerReferences": "uid",
};
