/** Name of the default StorageClass. */
export const STORAGE_CLASS = "local";
export const PROVISIONER = "etcd-cluster-operator.dev/local";

export const STORAGE_CLASS_OBJECT = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: STORAGE_CLASS, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
  provisioner: PROVISIONER,
  volumeBindingMode: "WaitForFirstConsumer",
  reclaimPolicy: "Delete",
  // Folders have no size that could grow.
  allowVolumeExpansion: false,
};
