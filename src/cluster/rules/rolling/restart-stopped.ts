import { isAboutToRestart, isOutdated, isTemplateReady } from "#cluster/rolling.ts";
import { isDown } from "#cluster/standstill.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** A pod in which nothing runs, or in which the only member hangs, is made anew as soon as its ReplicaSet has what the member is to run next. */
export const restartStopped: ClusterRule = {
  name: "restart-stopped",
  decide(snapshot) {
    for (const peer of snapshot.peers) {
      const { name } = peer.metadata;
      const pod = snapshot.pods.get(name);
      if (pod === undefined || !isDown(snapshot, name) || !isAboutToRestart(snapshot, peer) || !isTemplateReady(peer))
        continue;
      if (isOutdated(snapshot, peer)) continue; // the wish has changed, or there is no way there any more
      const because = `${pod.metadata.name} does not do its work, and was made from something else than is wanted of ${name} now`;
      return step("restart-stopped", because, { do: "restartPod", name, pod });
    }
    return undefined;
  },
};
