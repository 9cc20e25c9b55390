// Flags that users cannot set, with the reason. The operator sets the flag, a field of the spec does, or the flag would
// break a guarantee of the operator.

const GROUPS: readonly (readonly [why: string, ...names: readonly string[]])[] = [
  ["has a field of its own, spec.etcd.backendQuota", "quota-backend-bytes"],
  ["has a field of its own, spec.etcd.autoCompaction", "auto-compaction-mode", "auto-compaction-retention"],
  ["has a field of its own, spec.etcd.snapshotCount", "snapshot-count"],
  ["has a field of its own, spec.etcd.heartbeatInterval", "heartbeat-interval"],
  ["has a field of its own, spec.etcd.electionTimeout", "election-timeout"],
  [
    "is set by the operator, which gives each member its name and the list of members",
    ...["name", "initial-cluster", "initial-cluster-state", "initial-cluster-token"],
    ...["initial-advertise-peer-urls", "advertise-client-urls"],
  ],
  [
    "is set by the operator: its Services and probes use these ports",
    ...["listen-peer-urls", "listen-client-urls", "listen-client-http-urls", "listen-metrics-urls"],
  ],
  ["is set by the operator, which knows where the member's volume is", "data-dir", "wal-dir"],
  ["would make etcd ignore every other flag", "config-file"],
  ["makes etcd print its version and exit", "version"],
  ["would make each member that starts a cluster of its own", "force-new-cluster"],
  ["would lose writes that etcd has acknowledged", "unsafe-no-fsync"],
  ["stays as it is: it keeps changes of the member list from costing the quorum", "strict-reconfig-check"],
  ["stays as it is: it keeps a member that comes back from unseating the leader", "pre-vote"],
  ["stays as it is: the operator adds one learner at a time", "max-learners"],
  ["stays simple: for jwt etcd needs a private key, and a pod template mounts no Secrets", "auth-token"],
  ["would refuse the readiness probe, which reaches the member by its address", "host-whitelist"],
  [
    "is about the v2 API: a cluster with data of it cannot go to etcd 3.6",
    ...["enable-v2", "experimental-enable-v2v3", "v2-deprecation"],
  ],
  [
    "is about TLS, which spec.tls of the EtcdCluster sets up: members, their clients and the operator have to agree on it",
    ...["cert-file", "key-file", "trusted-ca-file", "auto-tls", "self-signed-cert-validity", "cipher-suites"],
    ...["tls-min-version", "tls-max-version", "client-cert-auth", "client-cert-file", "client-key-file"],
    ...["client-crl-file", "client-cert-allowed-hostname", "peer-cert-file", "peer-key-file", "peer-trusted-ca-file"],
    ...["peer-auto-tls", "peer-client-cert-auth", "peer-client-cert-file", "peer-client-key-file", "peer-crl-file"],
    ...["peer-cert-allowed-cn", "peer-cert-allowed-hostname", "peer-skip-client-san-verification"],
    "experimental-peer-skip-client-san-verification",
  ],
  [
    "is for discovery of members; the operator gives each member the list of members",
    ...["discovery", "discovery-cacert", "discovery-cert", "discovery-dial-timeout", "discovery-endpoints"],
    ...["discovery-fallback", "discovery-insecure-skip-tls-verify", "discovery-insecure-transport"],
    ...["discovery-keepalive-time", "discovery-keepalive-timeout", "discovery-key", "discovery-password"],
    ...["discovery-proxy", "discovery-request-timeout", "discovery-srv", "discovery-srv-name"],
    ...["discovery-token", "discovery-user"],
  ],
  [
    "is about the proxy that etcd 3.5 can be instead of a member",
    ...["proxy", "proxy-dial-timeout", "proxy-failure-wait", "proxy-read-timeout", "proxy-refresh-interval"],
    "proxy-write-timeout",
  ],
];

/** Flag name without dashes → reason why users cannot set it, as a clause after the flag name. */
export const RESERVED: ReadonlyMap<string, string> = new Map(
  GROUPS.flatMap(([why, ...names]) => names.map((name) => [name, why] as const)),
);
