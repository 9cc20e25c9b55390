import { clientService } from "#cluster/desired/services.ts";
import { keepService } from "#cluster/exposure.ts";
import type { ClusterRule } from "#cluster/step.ts";

/** The Service that clients use is there, and leads to the members that serve. */
export const clientServiceRule: ClusterRule = {
  name: "client-service",
  decide(snapshot) {
    const because = "is the address for clients";
    return keepService("client-service", snapshot, {
      live: snapshot.clientService,
      wanted: clientService(snapshot),
      because,
    });
  },
};
