import { gzipSync } from "node:zlib";
import { Registry } from "prom-client";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { FASTEST } from "#runtime/metrics-server.ts";
import { certificateMetrics } from "../src/bin/certificate-metrics.ts";
import { clusterMetrics } from "../src/bin/cluster-metrics.ts";
import { healthMetrics, type Managed } from "../src/bin/health-metrics.ts";
import { median, print, rounded, say } from "./figure.ts";

// The page of metrics for a fleet of three-member clusters with TLS: its size, and its processor time. Processor time does
// not depend on other work of the machine.

const CLUSTERS = 1_000;
const ROUNDS = 20;
const CERTIFICATES = ["peer-tls", "server-tls", "operator-tls", "peer-ca", "client-ca", "client"];
const DATABASE = { dbSizeBytes: 850_231_296, dbSizeInUseBytes: 449_232_896, dbSizeQuotaBytes: 2_147_483_648 };

const bare = cluster().cluster;
const names = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
const AVAILABLE = {
  type: "Available",
  status: "True",
  reason: "QuorumAvailable",
  message: "3 of 3 voters are healthy",
  observedGeneration: 1,
  lastTransitionTime: "2026-01-01T00:00:00Z",
} as const;
const zones = new Map(names.map((name, n) => [name, `europe-west1-${"bcd"[n]}`]));

function managed(n: number): Managed {
  const certificates = CERTIFICATES.map((name) => ({
    name: `my-etcd-${name}`,
    notAfter: "2027-01-01T00:00:00Z",
    issuer: "CN=my-etcd",
  }));
  const members = names.map((name) => ({ name, id: "1", role: "Voter" as const, health: "Healthy" as const }));
  const made: EtcdCluster = {
    ...bare,
    metadata: { ...bare.metadata, namespace: `tenant-${String(n).padStart(4, "0")}` },
    status: { ...bare.status, members, tls: { certificates }, conditions: [AVAILABLE] },
  };
  const databases = new Map(names.map((name) => [name, DATABASE]));
  return { cluster: made, check: { atMs: Date.now(), databases, leaderChanges: 3 }, ledSinceMs: undefined, zones };
}

async function measured(register: (registry: Registry) => void) {
  const registry = new Registry();
  register(registry);
  const times: number[] = [];
  let text = "";
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    text = await registry.metrics();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1_000);
  }
  return {
    series: text.split("\n").filter((line) => line.includes("{")).length,
    megabytes: rounded(Buffer.byteLength(text) / 1e6),
    megabytesOnTheWire: rounded(gzipSync(text, FASTEST).byteLength / 1e6),
    medianCpuMs: rounded(median(times), 0),
    longestCpuMs: rounded(Math.max(...times), 0),
  };
}

const all = Array.from({ length: CLUSTERS }, (_, n) => managed(n));
const clusters = () => all.map(({ cluster }) => cluster);
const health = await measured((registry) => healthMetrics(registry, () => all));
say(`health: ${JSON.stringify(health)}`);
const page = await measured((registry) => {
  clusterMetrics(registry, clusters);
  healthMetrics(registry, () => all);
  certificateMetrics(registry, clusters, () => []);
});
say(`with certificates: ${JSON.stringify(page)}`);
print({ bench: "scrape", clusters: CLUSTERS, health, page });
