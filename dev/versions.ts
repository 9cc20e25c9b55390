// Versions of all components of the local Kubernetes. The go.mod files below dev/go/ repeat them; a unit test compares
// both.

export const KUBERNETES_VERSION = "1.36.3";
/** Versions of etcd with an image, oldest first. */
export const ETCD_VERSIONS = ["3.5.35", "3.6.16", "3.7.3"] as const;
export type EtcdVersion = (typeof ETCD_VERSIONS)[number];
/** Version of clusters that name none, and the only one that the demonstration needs. */
export const DEFAULT_ETCD_VERSION = "3.6.16" satisfies EtcdVersion;
/** Version of the etcd below the local API server. */
export const CONTROL_PLANE_ETCD_VERSION = "3.6.16";
export const CONTAINERD_VERSION = "2.4.2";
export const RUNC_VERSION = "1.5.2";
export const CNI_PLUGINS_VERSION = "1.9.1";
export const COREDNS_VERSION = "1.15.0";
/** Versions of the object stores in tests, for S3 and for Google Cloud Storage. */
export const VERSITYGW_VERSION = "1.8.0";
export const FAKE_GCS_SERVER_VERSION = "1.56.1";
/** Version of the cert-manager in a long test. */
export const CERT_MANAGER_VERSION = "1.21.2";
/** Version of Kubernetes' Go libraries in the typed client of tests. */
export const KUBERNETES_LIBRARIES_VERSION = "0.36.3";
/** Versions of Helm with which the chart is tested. */
export const HELM_VERSION = "4.3.1";
export const HELM_3_VERSION = "3.22.0";
/** Version of the Prometheus with which alerts and dashboards are tested: its Go module v0.316.0 is release 3.16.0. */
export const PROMETHEUS_VERSION = "0.316.0";
/** Versions of the registry and of its client with which a release's image is tested. */
export const REGISTRY_VERSION = "0.22.1";
export const ORAS_VERSION = "1.3.6";
/** The plugin manager of kubectl, by which tests install the plugin of a release. */
export const KREW_VERSION = "0.4.3";
/** Version of our own pause program (dev/go/pause), increased when its behaviour changes. */
export const PAUSE_VERSION = "1";
