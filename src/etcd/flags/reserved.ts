// Flags that people cannot give, and why: each is the operator's own, has a field, or would break what the operator promises.

const GROUPS: readonly (readonly [why: string, ...names: readonly string[]])[] = [
  ["has a field of its own, spec.etcd.quotaBackendBytes", "quota-backend-bytes"],
  ["has a field of its own, spec.etcd.autoCompaction.mode", "auto-compaction-mode"],
  ["has a field of its own, spec.etcd.autoCompaction.retention", "auto-compaction-retention"],
  ["has a field of its own, spec.etcd.snapshotCount", "snapshot-count"],
  ["has a field of its own, spec.etcd.heartbeatInterval", "heartbeat-interval"],
  ["has a field of its own, spec.etcd.electionTimeout", "election-timeout"],
  [
    "is set by the operator, which tells each member who it is and who belongs to the cluster",
    ...["name", "initial-cluster", "initial-cluster-state", "initial-cluster-token"],
    ...["initial-advertise-peer-urls", "advertise-client-urls"],
  ],
  [
    "is set by the operator, whose Services and probes lead to these ports",
    ...["listen-peer-urls", "listen-client-urls", "listen-client-http-urls", "listen-metrics-urls"],
  ],
  ["is set by the operator, which knows where the member's volume is", "data-dir", "wal-dir"],
  ["would make etcd ignore every other flag", "config-file"],
  ["makes etcd tell its version and end", "version"],
  ["would make each member that starts a cluster of its own", "force-new-cluster"],
  ["would lose data that clients were told is safe", "unsafe-no-fsync"],
  ["stays as it is: it keeps changes of the member list from costing the quorum", "strict-reconfig-check"],
  ["stays as it is: it keeps a member that comes back from unseating the leader", "pre-vote"],
  ["stays as it is: the operator adds one learner at a time", "max-learners"],
  ["would turn the readiness probe away, which asks for the member by its address", "host-whitelist"],
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
    "is about clusters that find their members by discovery; the operator makes them, and names them to each other",
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

/** The name of a flag, without dashes → why nobody can give it, as a clause about it. */
export const RESERVED: ReadonlyMap<string, string> = new Map(
  GROUPS.flatMap(([why, ...names]) => names.map((name) => [name, why] as const)),
);
