import { monitorDiffers, podMonitor } from "#cluster/desired/pod-monitor.ts";
import { isMonitorOnRecord, isMonitorWanted } from "#cluster/monitored.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/** A PodMonitor leads Prometheus to the members' metrics, where somebody asks for one and the API server knows the kind. */
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
      const goes = `PodMonitor ${name} goes: spec.monitoring.podMonitor is false`;
      return step("pod-monitor", goes, { do: "deleteMonitor", live });
    }
    const wanted = podMonitor(snapshot);
    if (live === undefined) {
      // That there may be one is on record first: else nobody would know of it when it is not wanted any more.
      if (!isMonitorOnRecord(cluster)) return undefined;
      const leads = `PodMonitor ${wanted.metadata.name} leads Prometheus to the members' metrics`;
      return step("pod-monitor", leads, { do: "createMonitor", monitor: wanted });
    }
    if (!isOwned(snapshot, live)) return remark("pod-monitor", takenText(live));
    if (!monitorDiffers(live, wanted)) return undefined;
    const differs = `PodMonitor ${name} differs from what is wanted`;
    return step("pod-monitor", differs, { do: "replaceMonitor", live, monitor: wanted });
  },
};
