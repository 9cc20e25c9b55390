import { CLIENT_PORT, clientUrl, METRICS_PORT, peerHost } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";

// Which question does each probe ask, and what would a wrong one do?
//   Startup and liveness ask `/livez`: does the process serve its own data? It needs no quorum, so a member that waits for
//   the others is never killed for it. A liveness probe that needed a quorum would kill every member during an outage.
//   Readiness asks `/readyz`: does a linearizable read succeed? Only then may clients be led here. It asks where clients do: the
//   metrics port says yes up to seven seconds before a new member opens its client port (etcd/health-check.ts).
//   A member that receives a snapshot or replays a long WAL may take many minutes: killing it would start that over and
//   fill the disk with unfinished copies, so startup has half an hour.
// And when the client port speaks TLS?
//   The kubelet has no certificate to show there. So readiness asks at the metrics port, which tells the truth once the client port has
//   answered for the first time: until then startup asks, with etcdctl and what the member itself shows, which stands in the container's
//   environment (tls.ts). A connection would prove nothing,
//   since etcd listens long before it answers. It answers first when there has been a leader, so startup then has no end: who waits for the
//   others is never killed for it, nor is who hangs before.
// Sources: https://etcd.io/docs/v3.6/op-guide/monitoring/#health-check (both paths exist since etcd 3.5.11).

const STARTUP_PERIOD_SECONDS = 1;
const STARTUP_LIMIT_SECONDS = 30 * 60;

export const startupProbe = {
  httpGet: { path: "/livez", port: METRICS_PORT, scheme: "HTTP" },
  periodSeconds: STARTUP_PERIOD_SECONDS,
  timeoutSeconds: 5,
  failureThreshold: STARTUP_LIMIT_SECONDS / STARTUP_PERIOD_SECONDS,
} as const;

/** The container is restarted after two minutes of silence, at 5 s a try: a disk that stalls for a minute is no reason. */
export const livenessProbe = {
  httpGet: { path: "/livez", port: METRICS_PORT, scheme: "HTTP" },
  periodSeconds: 10,
  timeoutSeconds: 5,
  failureThreshold: 12,
} as const;

/**
 * It is asked every second because that is what clients of a new cluster, and of a member that returns, wait for. An election takes one
 * to two seconds, in which etcd is silent: a member must not leave the Service for each. It leaves after fifteen seconds of silence.
 */
export const readinessProbe = {
  httpGet: { path: "/readyz", port: CLIENT_PORT, scheme: "HTTP" },
  periodSeconds: 1,
  timeoutSeconds: 3,
  failureThreshold: 5,
} as const;

/** The largest number that Kubernetes takes there: at one a second it is longer than anybody waits. */
const NEVER = 2_147_483_647;
/** Of etcdctl, for a connection and for an answer: it ends by itself before the kubelet loses its patience. */
const ASK_SECONDS = 3;

const readyAtMetricsPort = { ...readinessProbe, httpGet: { ...readinessProbe.httpGet, port: METRICS_PORT } } as const;

/** What etcd is asked, by whether its client port speaks TLS. */
export function probes({ metadata, spec }: EtcdPeer) {
  const { client } = spec.tls ?? {};
  if (client === undefined) return { startupProbe, livenessProbe, readinessProbe };
  const host = peerHost(metadata.namespace, spec.clusterName, metadata.name);
  const { httpGet: _, ...times } = startupProbe;
  const command = [
    "etcdctl",
    `--endpoints=${clientUrl(host, "https")}`,
    `--dial-timeout=${ASK_SECONDS}s`,
    `--command-timeout=${ASK_SECONDS}s`,
    "endpoint",
    "status",
  ];
  return {
    startupProbe: { exec: { command }, ...times, failureThreshold: NEVER },
    livenessProbe,
    readinessProbe: readyAtMetricsPort,
  };
}
