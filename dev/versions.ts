// Every version of the local environment. The go.mod files below dev/go/ repeat them; a unit test holds the two together.

export const KUBERNETES_VERSION = "1.36.3";
/** The etcd versions that images exist for, oldest first. */
export const ETCD_VERSIONS = ["3.5.35", "3.6.16", "3.7.3"] as const;
export type EtcdVersion = (typeof ETCD_VERSIONS)[number];
/** The one that clusters run which name none: all that a demonstration needs. */
export const DEFAULT_ETCD_VERSION = "3.6.16" satisfies EtcdVersion;
/** The etcd below the local API server. */
export const CONTROL_PLANE_ETCD_VERSION = "3.6.16";
export const CONTAINERD_VERSION = "2.4.2";
export const RUNC_VERSION = "1.5.2";
export const CNI_PLUGINS_VERSION = "1.9.1";
export const COREDNS_VERSION = "1.15.0";
/** Object stores that tests talk to: one that speaks S3, and Google's. */
export const VERSITYGW_VERSION = "1.8.0";
export const FAKE_GCS_SERVER_VERSION = "1.56.1";
/** Who issues certificates in a long test. */
export const CERT_MANAGER_VERSION = "1.21.2";
/** Of our own pause program (dev/go/pause): counts up when its meaning changes. */
export const PAUSE_VERSION = "1";
