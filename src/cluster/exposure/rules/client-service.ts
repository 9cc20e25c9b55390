import { clientService } from "#cluster/exposure/desired/services.ts";
import { keepService } from "#cluster/exposure/exposure.ts";
import type { ClusterRule } from "#cluster/step.ts";

/** Creates and corrects the Service for clients. It leads to the members that serve. */
export const clientServiceRule: ClusterRule = {
  name: "client-service",
  decide(snapshot) {
    const because = "is the address for clients";
    return keepService(snapshot, {
      live: snapshot.clientService,
      wanted: clientService(snapshot),
      because,
    });
  },
};
