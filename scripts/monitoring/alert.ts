import { CLUSTER_LABEL, PEER_LABEL } from "#api/names.ts";

/** An alert of Prometheus. Two alerts of one name differ in severity and bound, and share an entry of the runbooks. */
export interface Alert {
  readonly name: string;
  /** critical: act now. warning: act today. info: know it. */
  readonly severity: "critical" | "warning" | "info";
  /** For how long the expression must hold, as a duration of Prometheus. */
  readonly for: string;
  /** For how long the alert still fires after the expression has held; see LAPSE. Default: not at all. */
  readonly keepFiringFor?: string;
  readonly expr: string;
  /** One line, without the details of the object. */
  readonly summary: string;
  /** A template of Prometheus that names the object. */
  readonly description: string;
}

/** The name under which Prometheus keeps a label of a pod, as the PodMonitor of an EtcdCluster copies it. */
function labelOf(name: string): string {
  return name.replace(/[^a-zA-Z0-9_]/g, "_");
}

/** Label of members' own metrics with the name of their EtcdCluster. */
export const CLUSTER = labelOf(CLUSTER_LABEL);
/** Label of members' own metrics with the name of the member. */
export const PEER = labelOf(PEER_LABEL);
/** Selects the members of EtcdClusters, and no other etcd. */
export const MEMBERS = `${CLUSTER}!=""`;
/** Groups members' own metrics by cluster, and by member. */
export const BY_CLUSTER = `by (namespace, ${CLUSTER})`;
export const BY_MEMBER = `by (namespace, ${CLUSTER}, ${PEER})`;
/** Drops the labels of the replica, which change with the leader. */
export const BY_NAME = "by (namespace, name)";

const { raw } = String;
/** Names of the object in descriptions. */
export const OF_CLUSTER = raw`EtcdCluster {{ $labels.namespace }}/{{ $labels.name }}`;
export const OF_MEMBERS = raw`EtcdCluster {{ $labels.namespace }}/{{ $labels.${CLUSTER} }}`;
export const OF_MEMBER = raw`Member {{ $labels.${PEER} }} in namespace {{ $labels.namespace }}`;

/** The largest value of a metric of the operator for each cluster. */
export function ofEach(metric: string): string {
  return `max ${BY_NAME} (etcd_operator_${metric})`;
}

/**
 * The last value of a metric of the operator for each cluster, up to three minutes old. Between the end of a leader and
 * the first scrape of the next one there are no series, which would begin `for` again.
 *
 * Only for alerts with a `for` of five minutes or more: a value that was seen once holds for three minutes.
 */
export function lastOfEach(metric: string): string {
  return `max ${BY_NAME} (last_over_time(etcd_operator_${metric}[3m]))`;
}

/** `keepFiringFor` of alerts with a short `for`: a change of the leader must not resolve them. */
export const LAPSE = "5m";
