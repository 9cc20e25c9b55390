import { headlessService } from "#cluster/desired/services.ts";
import { keepService } from "#cluster/exposure.ts";
import type { ClusterRule } from "#cluster/step.ts";

/** The Service that gives members their DNS names is there before the members, which look each other up as they start. */
export const headlessServiceRule: ClusterRule = {
  name: "headless-service",
  decide(snapshot) {
    const because = "gives members their DNS names";
    return keepService("headless-service", snapshot, {
      live: snapshot.headlessService,
      wanted: headlessService(snapshot),
      because,
    });
  },
};
