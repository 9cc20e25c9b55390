import { clientService, serviceDiffers } from "#cluster/desired/services.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/** The Service that clients use. */
export const clientServiceRule: ClusterRule = {
  name: "client-service",
  decide(snapshot) {
    const wanted = clientService(snapshot);
    const live = snapshot.clientService;
    if (live === undefined) {
      return step("client-service", `Service ${wanted.metadata.name} is the address for clients`, {
        do: "createService",
        service: wanted,
      });
    }
    if (!isOwned(snapshot, live)) return remark("client-service", takenText(live));
    if (!serviceDiffers(live, wanted)) return undefined;
    return step("client-service", `Service ${wanted.metadata.name} differs from what is wanted`, {
      do: "replaceService",
      live,
      service: wanted,
    });
  },
};
