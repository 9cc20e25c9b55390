import { takenText } from "#cluster/owned.ts";
import type { Case, Verdict } from "#cluster/readiness/verdict.ts";
import { isOwned } from "#cluster/snapshot.ts";
import { isMonitorOnRecord, isMonitorWanted } from "./monitored.ts";

/** Condition Monitored: whether a PodMonitor selects the members' metrics. Absent until one was wanted. */
export function monitored({ snapshot, plan }: Pick<Case, "snapshot" | "plan">): Verdict | undefined {
  const { cluster, podMonitor: seen } = snapshot;
  const no = (reason: Verdict["reason"], message: string): Verdict => ({ status: "False", reason, message });
  const isWanted = isMonitorWanted(cluster);
  if (cluster.metadata.deletionTimestamp !== undefined || !(isWanted || isMonitorOnRecord(cluster))) return undefined;
  if (seen === undefined)
    return { status: "Unknown", reason: "Waiting", message: "the API server has not been asked yet" };
  if (seen.is === "unknown") return { status: "Unknown", reason: "Waiting", message: seen.why };
  const hindered = plan.reports?.find(({ rule, is }) => rule === "pod-monitor" && is === "refused");
  if (hindered !== undefined) return no("StepRefused", hindered.because);
  const isOurs = seen.is === "present" && isOwned(snapshot, seen.value);
  if (!isWanted)
    return isOurs
      ? no("Waiting", "the PodMonitor is about to be deleted")
      : no("NotMonitored", "spec.monitoring.podMonitor.enabled is not true");
  if (seen.is === "notServed") return no("MonitorsNotServed", NOT_SERVED);
  if (seen.is === "absent") return no("Waiting", "the PodMonitor is about to be created");
  if (!isOurs) return no("NameTaken", takenText(seen.value));
  const { name } = seen.value.metadata;
  return { status: "True", reason: "Monitored", message: `PodMonitor ${name} selects the members' metrics` };
}

const NOT_SERVED =
  "spec.monitoring.podMonitor.enabled is true, and the API server serves no PodMonitors (podmonitors.monitoring.coreos.com, v1): install the CRDs of the Prometheus Operator, or set it to false. The operator checks again every five minutes";
