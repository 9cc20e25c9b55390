import { headlessService, serviceDiffers } from "#cluster/desired/services.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/** The Service that gives members their DNS names is there before the members, which look each other up as they start. */
export const headlessServiceRule: ClusterRule = {
  name: "headless-service",
  decide(snapshot) {
    const wanted = headlessService(snapshot);
    const live = snapshot.headlessService;
    if (live === undefined) {
      return step("headless-service", `Service ${wanted.metadata.name} gives members their DNS names`, {
        do: "createService",
        service: wanted,
      });
    }
    if (!isOwned(snapshot, live)) return remark("headless-service", takenText(live));
    if (!serviceDiffers(live, wanted)) return undefined;
    return step("headless-service", `Service ${wanted.metadata.name} differs from what is wanted`, {
      do: "replaceService",
      live,
      service: wanted,
    });
  },
};
