import { CLIENT_PORT, clientUrl, METRICS_PORT, peerHost } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";

// What does each probe check, and why?
//   Startup checks `/livez`: does the process serve its own data? It needs no quorum, so a member that waits for the
//   others is not killed.
//   Liveness checks `/livez` without its only check, a read: does the process answer at all? During a defragmentation,
//   or while a received snapshot is loaded, no read ends. 8 GB on a slow disk take half an hour. A member killed then
//   would begin again, endlessly (test/etcd/defragmentation.test.ts). A frozen or starved process does not answer and
//   is restarted. A process that hangs in its database answers, but is not ready until a user restarts it. If the disk
//   hangs, a restart does not help.
//   Readiness checks `/readyz`: does a linearizable read succeed? Only then may clients be routed to the member. It
//   uses the client port, because the metrics port succeeds up to seven seconds before a new member opens its client
//   port (etcd/health-check.ts).
// How long may a start take?
//   Without limit. Before it answers, a member reads its database and the WAL since the last raft snapshot: several
//   gigabytes after large writes. If it were killed, it would begin again. A member that hangs there is replaced like
//   any lost one.
// What changes when the client port uses TLS?
//   The kubelet has no client certificate, so readiness uses the metrics port. That is right once the client port has
//   answered for the first time. Until then startup checks the client port with etcdctl and the member's own
//   certificate, from the container's environment (tls.ts). A TCP connection would prove nothing: etcd listens long
//   before it answers. It answers first once a leader was elected.
// Sources: https://etcd.io/docs/v3.6/op-guide/monitoring/#health-check (both paths exist since etcd 3.5.11).

/** Largest threshold that Kubernetes accepts: 68 years at one try a second. */
const NEVER = 2_147_483_647;

export const startupProbe = {
  httpGet: { path: "/livez", port: METRICS_PORT, scheme: "HTTP" },
  periodSeconds: 1,
  timeoutSeconds: 5,
  failureThreshold: NEVER,
} as const;

/**
 * Restarts the container after two minutes without an answer. Much shorter, and members restart on a machine that is
 * busy or swaps for a minute. Much longer, and the operator replaces a frozen member first and copies all of its data.
 */
export const livenessProbe = {
  httpGet: { path: "/livez?exclude=serializable_read", port: METRICS_PORT, scheme: "HTTP" },
  periodSeconds: 10,
  timeoutSeconds: 5,
  failureThreshold: 12,
} as const;

/**
 * Runs every second, because clients of a new cluster or a restarted member wait for it. Fails after fifteen seconds:
 * an election of one or two seconds, in which etcd does not answer, must not remove a member from the Service.
 */
export const readinessProbe = {
  httpGet: { path: "/readyz", port: CLIENT_PORT, scheme: "HTTP" },
  periodSeconds: 1,
  timeoutSeconds: 3,
  failureThreshold: 5,
} as const;

/** Timeouts of etcdctl in seconds, for connecting and for the answer: shorter than the probe's timeout. */
const ASK_SECONDS = 3;

const readyAtMetricsPort = { ...readinessProbe, httpGet: { ...readinessProbe.httpGet, port: METRICS_PORT } } as const;

/** The probes of etcd's container, which depend on whether the client port uses TLS. */
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
    startupProbe: { exec: { command }, ...times },
    livenessProbe,
    readinessProbe: readyAtMetricsPort,
  };
}
