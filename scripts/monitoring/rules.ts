import { OPERATOR } from "#api/names.ts";
import { type Manifest, own } from "../own.ts";
import type { Alert } from "./alert.ts";
import { MEMBER_ALERTS } from "./member-alerts.ts";
import { CLUSTER_AND_OPERATOR_ALERTS } from "./operator-alerts.ts";

/** Address of the documentation in generated files. The name is reserved; a release replaces it. */
const DOCS_URL = "https://etcd-cluster-operator.example";

/**
 * A generated file with the links of its alerts to the documentation at this address.
 * @param docs without it the links are left out: nothing answers at the reserved name
 */
export function withRunbooks(text: string, docs: string | undefined): string {
  return docs === undefined ? text.replaceAll(/^ *runbook_url: .*\n/gm, "") : text.replaceAll(DOCS_URL, docs);
}

/** All alerts, by the name of their group. */
export const ALERTS: Readonly<Record<string, readonly Alert[]>> = {
  "etcd-members": MEMBER_ALERTS,
  "etcd-clusters": CLUSTER_AND_OPERATOR_ALERTS.clusters,
  "etcd-operator": CLUSTER_AND_OPERATOR_ALERTS.operator,
};

/**
 * Groups of rules as Prometheus reads them.
 * @param docs address of the site. Its page of runbooks has an anchor for each alert: its name in lower case.
 */
export function ruleGroups(docs: string = DOCS_URL) {
  return Object.entries(ALERTS).map(([name, alerts]) => ({
    name,
    rules: alerts.map(({ name: alert, expr, for: lasts, keepFiringFor, severity, summary, description }) => ({
      alert,
      expr,
      for: lasts,
      ...(keepFiringFor === undefined ? {} : { keep_firing_for: keepFiringFor }),
      labels: { severity },
      annotations: { summary, description, runbook_url: `${docs}/runbooks.html#${alert.toLowerCase()}` },
    })),
  }));
}

/** The alerts as an object of the Prometheus operator. Descriptions have `{{ … }}`, which Helm must not evaluate. */
export function prometheusRule(docs: string = DOCS_URL): Manifest {
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: own(OPERATOR),
    spec: { groups: ruleGroups(docs) },
  };
}
