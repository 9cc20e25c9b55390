// Series with which each alert fires and with which it stays quiet, in the notation of `promtool test rules`.
// `0+5x40` is 41 values, a minute apart, each 5 more than the one before.

/** A series, and its values. */
export type Series = readonly [series: string, values: string];

export interface AlertCase {
  readonly alert: string;
  /** Severity of the alert; default: the alert has only one. */
  readonly severity?: "critical" | "warning";
  readonly fires: readonly Series[];
  /** Labels of the alert that fires, beside name and severity. */
  readonly labels: string;
  readonly quiet: readonly Series[];
  /** More series with which the alert fires, or is quiet; each list is a test of its own. */
  readonly alsoFires?: readonly (readonly Series[])[];
  readonly alsoQuiet?: readonly (readonly Series[])[];
  /** Minute at which both are evaluated. Default: 60. */
  readonly atMinute?: number;
}

export const NAMESPACE = 'namespace="shop"';
export const OF_CLUSTER = `${NAMESPACE},name="my-etcd"`;
export const OF_MEMBERS = `${NAMESPACE},etcd_improbable_io_cluster_name="my-etcd"`;
const ofMember = (n: number) => `${OF_MEMBERS},etcd_improbable_io_peer_name="my-etcd-${n}"`;
export const FIRST = ofMember(0);
/** Labels that Prometheus adds to each target; alerts must not depend on them. */
const target = (n: number) => `job="shop/my-etcd",pod="pod-${n}",instance="10.0.0.${n}:2381"`;
export const member = (metric: string, values: string, more = "", n = 0): Series => [
  `${metric}{${ofMember(n)},${target(n)}${more}}`,
  values,
];
export const replica = (metric: string, values: string, labels = OF_CLUSTER, n = 0): Series => [
  `etcd_operator_${metric}{${labels}${labels === "" ? "" : ","}pod="operator-${n}"}`,
  values,
];
export const condition = (type: string, reason: string, values = "1x60", n = 0) =>
  replica("cluster_abnormal_condition", values, `${OF_CLUSTER},type="${type}",status="False",reason="${reason}"`, n);
export const three = (metric: string, ...values: readonly string[]) =>
  values.map((each, n) => member(metric, each, "", n));
/** A histogram of which 90 of 100 observations each minute are below the bound, and the rest below the next one. */
export const buckets = (metric: string, bound: string, next: string, more = ""): Series[] => [
  member(`${metric}_bucket`, "0+90x60", `,le="${bound}"${more}`),
  member(`${metric}_bucket`, "0+100x60", `,le="${next}"${more}`),
  member(`${metric}_bucket`, "0+100x60", `,le="+Inf"${more}`),
];
export const HOUR = 3_600;
