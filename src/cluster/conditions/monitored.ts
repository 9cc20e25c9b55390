import { isMonitorOnRecord, isMonitorWanted } from "#cluster/monitored.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { Case, Verdict } from "./verdict.ts";

/** Does a PodMonitor lead to the members' metrics? It is told once somebody has asked for one. */
export function monitored({ snapshot, plan }: Pick<Case, "snapshot" | "plan">): Verdict | undefined {
  const { cluster, podMonitor: seen } = snapshot;
  const no = (reason: Verdict["reason"], message: string): Verdict => ({ status: "False", reason, message });
  const isWanted = isMonitorWanted(cluster);
  if (cluster.metadata.deletionTimestamp !== undefined || !(isWanted || isMonitorOnRecord(cluster))) return undefined;
  if (seen === undefined) return { status: "Unknown", reason: "Waiting", message: "nobody has looked yet" };
  if (seen.is === "unknown") return { status: "Unknown", reason: "Waiting", message: seen.why };
  const hindered = plan.aside?.find(({ rule, is }) => rule === "pod-monitor" && is === "refused");
  if (hindered !== undefined) return no("StepRefused", hindered.because);
  const isOurs = seen.is === "present" && isOwned(snapshot, seen.value);
  if (!isWanted)
    return isOurs
      ? no("Waiting", "the PodMonitor is about to go")
      : no("NotMonitored", "spec.monitoring.podMonitor is false");
  if (seen.is === "notServed") return no("MonitorsNotServed", NOT_SERVED);
  if (seen.is === "absent") return no("Waiting", "the PodMonitor is about to be made");
  if (!isOurs) return no("NameTaken", takenText(seen.value));
  const { name } = seen.value.metadata;
  return { status: "True", reason: "Monitored", message: `PodMonitor ${name} leads to the members' metrics` };
}

const NOT_SERVED =
  "spec.monitoring.podMonitor is true, and the API server knows no PodMonitors (podmonitors.monitoring.coreos.com, v1): install the definitions of the Prometheus Operator, or set it to false; it is looked for every five minutes";
