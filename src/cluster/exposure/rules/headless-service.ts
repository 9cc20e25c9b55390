import { headlessService } from "#cluster/exposure/desired/services.ts";
import { keepService } from "#cluster/exposure/exposure.ts";
import type { ClusterRule } from "#cluster/step.ts";

/**
 * Creates the Service that gives members their DNS names, before the members: they resolve each other when they start.
 */
export const headlessServiceRule: ClusterRule = {
  name: "headless-service",
  decide(snapshot) {
    const because = "gives members their DNS names";
    return keepService(snapshot, {
      live: snapshot.headlessService,
      wanted: headlessService(snapshot),
      because,
    });
  },
};
