import { monitorDiffers, podMonitor } from "#cluster/exposure/desired/pod-monitor.ts";
import { isMonitorOnRecord, isMonitorWanted } from "#cluster/exposure/monitored.ts";
import { takenText } from "#cluster/owned.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { notice, step } from "#runtime/decide.ts";

/**
 * Creates and corrects a PodMonitor for the members' metrics, when spec.monitoring asks for it and the API server
 * serves the kind.
 */
export const podMonitorRule: ClusterRule = {
  name: "pod-monitor",
  decide(snapshot) {
    const { cluster, podMonitor: seen } = snapshot;
    if (seen === undefined || (seen.is !== "present" && seen.is !== "absent")) return undefined;
    const live = seen.is === "present" ? seen.value : undefined;
    const name = live?.metadata.name;
    if (!isMonitorWanted(cluster)) {
      if (live === undefined || live.metadata.deletionTimestamp !== undefined || !isOwned(snapshot, live))
        return undefined;
      const deletionReason = `PodMonitor ${name} is deleted: spec.monitoring.podMonitor.enabled is not true`;
      return step(deletionReason, { do: "deleteMonitor", live });
    }
    const wanted = podMonitor(snapshot);
    if (live === undefined) {
      // The condition is recorded first: otherwise the PodMonitor would not be found again once it is no longer wanted.
      if (!isMonitorOnRecord(cluster)) return undefined;
      const creationReason = `PodMonitor ${wanted.metadata.name} selects the members' metrics for Prometheus`;
      return step(creationReason, { do: "createMonitor", monitor: wanted });
    }
    if (!isOwned(snapshot, live)) return notice(takenText(live));
    if (!monitorDiffers(live, wanted)) return undefined;
    const changeReason = `PodMonitor ${name} differs from what is wanted`;
    return step(changeReason, { do: "replaceMonitor", live, monitor: wanted });
  },
};
