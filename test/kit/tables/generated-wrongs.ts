// Mistakes in the spec of an EtcdCluster, each with the name that the refusal must contain.

type Part = Readonly<Record<string, unknown>>;
export type Wrong = readonly [says: string, part: Part];

const ofSpec: readonly Wrong[] = [
  ...[8, -1, 2.5, "3"].map((replicas): Wrong => ["spec.replicas", { replicas }]),
  ...["v3.6.16", "3.4.1", "3.5.10", "3.8.0", "3.6", "latest", ""].map(
    (version): Wrong => ["spec.version", { version }],
  ),
  ["spec.image.digest", { image: { digest: "sha256:xyz" } }],
  ["spec.image.pullPolicy", { image: { pullPolicy: "Sometimes" } }],
  ...[" registry.example/etcd", "registry.example/etcd:v3.6.16", "etcd:3", "Etcd", "https://registry.example/etcd"].map(
    (repository): Wrong => ["spec.image.repository", { image: { repository } }],
  ),
  ["spec.image.pullSecrets", { image: { pullSecrets: [{ name: "" }] } }],
  ...["0", "-1Gi", "8 GB", ""].map((size): Wrong => ["spec.storage.size", { storage: { size } }]),
  ...[["ReadWriteMany"], [], ["ReadWriteOnce", "ReadWriteOncePod"]].map(
    (accessModes): Wrong => ["spec.storage.accessModes", { storage: { accessModes } }],
  ),
  ["spec.clientService.spec.type", { clientService: { spec: { type: "ExternalName" } } }],
  ["spec.clientService.metadata.labels", { clientService: { metadata: { labels: { "etcd.improbable.io/x": "y" } } } }],
  ["spec.clientSecret.metadata.labels", { clientSecret: { metadata: { labels: { "etcd.improbable.io/x": "y" } } } }],
  ["spec.caConfigMap.metadata.labels", { caConfigMap: { metadata: { labels: { a: "two words" } } } }],
  ["spec.clientService.spec.trafficDistribution", { clientService: { spec: { trafficDistribution: "Nearest" } } }],
  ["spec.clientService.spec", { clientService: { spec: { type: "ClusterIP", nodePort: 30_379 } } }],
  ["spec.clientService.spec", { clientService: { spec: { type: "NodePort", loadBalancerClass: "a" } } }],
  ["spec.clientService.spec.nodePort", { clientService: { spec: { type: "NodePort", nodePort: 70_000 } } }],
  ["spec.clientService.spec.appProtocol", { clientService: { spec: { appProtocol: "not this" } } }],
  ["spec.clientService.spec.ipFamilies", { clientService: { spec: { ipFamilies: ["IPv5"] } } }],
  ["spec.clientService.spec.ipFamilyPolicy", { clientService: { spec: { ipFamilyPolicy: "Both" } } }],
  [
    "spec.clientService.spec.loadBalancerSourceRanges",
    { clientService: { spec: { type: "LoadBalancer", loadBalancerSourceRanges: ["10.0.0.0/33"] } } },
  ],
  ["spec.updateStrategy.type", { updateStrategy: { type: "Recreate" } }],
  ...["9s", "25h", "soon", "10"].map(
    (memberTimeout): Wrong => ["spec.updateStrategy.memberTimeout", { updateStrategy: { memberTimeout } }],
  ),
  ["spec.replacement.after", { replacement: { policy: "WhenLost", after: "Never" } }],
  ["spec.replacement.policy", { replacement: { policy: "Sometimes" } }],
  ["spec.replacement", { replacement: { policy: "Never", after: "5m" } }],
  ["spec.disruptionBudget", { disruptionBudget: "None" }],
  ["spec.disruptionBudget.policy", { disruptionBudget: { policy: "Some" } }],
  ...[
    {},
    { ipBlock: { cidr: "192.0.2.0/24" }, podSelector: {} },
    { ipBlock: { cidr: "10.0.0.0/33" } },
    { podSelector: { matchExpressions: [{ key: "a", operator: "Is" }] } },
    { podSelector: { matchExpressions: [{ key: "a", operator: "In" }] } },
  ].map(
    (peer): Wrong => [
      "spec.networkPolicy.clients",
      { networkPolicy: { enabled: true, clients: { policy: "Listed", from: [peer] } } },
    ],
  ),
  ["spec.networkPolicy.enabled", { networkPolicy: { enabled: "yes", clients: { policy: "Listed" } } }],
  ["spec.networkPolicy.clients", { networkPolicy: { enabled: true, clients: undefined } }],
  ["spec.networkPolicy.clients", { networkPolicy: { enabled: true, clients: [] } }],
  [
    "spec.networkPolicy.metrics.policy",
    { networkPolicy: { enabled: true, clients: { policy: "Listed" }, metrics: { policy: "Open" } } },
  ],
  [
    "spec.networkPolicy.clients",
    { networkPolicy: { enabled: true, clients: { policy: "Namespace", from: [{ podSelector: {} }] } } },
  ],
  ["spec.monitoring.podMonitor", { monitoring: { podMonitor: true } }],
  ["spec.auth.enabled", { auth: {} }],
  ["spec.paused", { paused: "yes" }],
];

function etcd(field: string, value: unknown): Wrong {
  return [`spec.etcd.${field}`, { etcd: { [field]: value } }];
}

function flag(name: string, value = "x"): Wrong {
  return [name.replace(/^-+/, ""), { etcd: { extraArgs: { [name]: value } } }];
}

const ofEtcd: readonly Wrong[] = [
  ...["63Mi", "2Ti", "Auto", -1].map(
    (size): Wrong => ["spec.etcd.backendQuota.size", { etcd: { backendQuota: { mode: "Fixed", size } } }],
  ),
  ...["4Gi", { mode: "Auto", size: "4Gi" }, { mode: "auto" }].map((quota) => etcd("backendQuota", quota)),
  ...[99, 10_000_001, "many"].map((value) => etcd("snapshotCount", value)),
  ...["9ms", "11s", "100", "1h", "0.5s"].map((value) => etcd("heartbeatInterval", value)),
  ...["49ms", "51s", ""].map((value) => etcd("electionTimeout", value)),
  ["electionTimeout", { etcd: { heartbeatInterval: "1s", electionTimeout: "4999ms" } }],
  ...["1000", "59s", "87601h"].map(
    (period): Wrong => ["spec.etcd.autoCompaction.period", { etcd: { autoCompaction: { mode: "Periodic", period } } }],
  ),
  ["spec.etcd.autoCompaction.revisions", { etcd: { autoCompaction: { mode: "Revision", revisions: 0 } } }],
  etcd("autoCompaction", { mode: "Revision", period: "1h" }),
  etcd("autoCompaction", { mode: "None", revisions: 1 }),
  etcd("autoCompaction", { mode: "Never" }),
  ...["name", "data-dir", "unsafe-no-fsync", "cert-file", "quota-backend-bytes", "strict-reconfig-check"].map((name) =>
    flag(name),
  ),
  ...["no-such-flag", "max-txn-op", "--max-txn-ops", "help"].map((name) => flag(name)),
  ...["", "-1", "1.5", "many"].map((value) => flag("max-txn-ops", value)),
];

function pod(says: string, spec: Part): Wrong {
  return [`spec.podTemplate.spec.${says}`, { podTemplate: { spec } }];
}

function container(says: string, part: Part): Wrong {
  return pod(`containers[0].${says}`, { containers: [{ name: "etcd", ...part }] });
}

const ofPods: readonly Wrong[] = [
  ["spec.podTemplate.metadata.labels", { podTemplate: { metadata: { labels: { team: "a b" } } } }],
  [
    "spec.podTemplate.metadata.annotations",
    { podTemplate: { metadata: { annotations: { "etcd.improbable.io/revision": "x" } } } },
  ],
  pod("hostname", { hostname: "x" }),
  pod("hostNetwork", { hostNetwork: true }),
  pod("restartPolicy", { restartPolicy: "Never" }),
  pod("nodeName", { nodeName: "node-1" }),
  pod("terminationGracePeriodSeconds", { terminationGracePeriodSeconds: 1 }),
  pod("tolerations", { tolerations: [{ key: "a", operator: "Somehow" }] }),
  pod("nodeSelector", { nodeSelector: { "a b": "c" } }),
  pod("dnsPolicy", { dnsPolicy: "Default" }),
  pod("contianers", { contianers: [] }),
  pod("containers", { containers: [{ name: "sidecar" }] }),
  pod("containers", { containers: [{ name: "Sidecar", image: "x" }] }),
  pod("volumes", { volumes: [{ name: "etcd-data", emptyDir: {} }] }),
  pod("volumes", { volumes: [{ name: "scratch", emptyDir: {}, hostPath: { path: "/" } }] }),
  container("command", { command: ["sh"] }),
  container("image", { image: "mine" }),
  container("livenessProbe", { livenessProbe: { periodSeconds: 1 } }),
  container("env", {
    env: [
      { name: "1 A", value: "x" },
      { name: "ETCD_NAME", value: "x" },
    ],
  }),
  pod("containers", { containers: [{ name: "etcd", resources: { requests: { cpu: "-1" } } }] }),
  pod("containers[etcd].resources", {
    containers: [{ name: "etcd", resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } }],
  }),
  pod("containers[etcd].volumeMounts", {
    containers: [{ name: "etcd", volumeMounts: [{ name: "nowhere", mountPath: "/x" }] }],
  }),
];

function peers(says: string, peer: Part): Wrong {
  return [says, { tls: { peer } }];
}

const ofTls: readonly Wrong[] = [
  peers("spec.tls.peer.provider", { provider: "Vault" }),
  peers("peer.secret", { provider: "Operator", secret: { name: "members-tls" } }),
  peers("peer.certManager", { provider: "None", certManager: { issuerRef: { name: "company" } } }),
  peers("peer.certManager", { provider: "CertManager", certManager: { issuerRef: { name: "a", kind: "Pod" } } }),
  peers("peer.renewBefore", { provider: "Operator", duration: "1h", renewBefore: "2h" }),
  peers("peer.duration", { provider: "Secret", secret: { name: "members-tls" }, duration: "24h" }),
  peers("spec.tls.peer.duration", { provider: "Operator", duration: "5m" }),
  ["spec.tls.client.extraNames", { tls: { client: { provider: "Operator", extraNames: ["Etcd.example.com"] } } }],
  ["spec.tls.client.clientCertificates", { tls: { client: { provider: "Operator", clientCertificates: "No" } } }],
  ["spec.tls.minVersion", { tls: { minVersion: "TLS1.1" } }],
  ["tls.cipherSuites", { tls: { minVersion: "TLS1.3", cipherSuites: ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"] } }],
];

export const WRONG: readonly Wrong[] = [...ofSpec, ...ofEtcd, ...ofPods, ...ofTls];
