import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** No event tells when a member can be reached again, and its status should not be wrong for longer than a look takes. */
const RECHECK_MS = 2_000;

/** The pod is ready, but the member could not be asked: it is asked again soon. */
export const awaitMember: PeerRule = {
  name: "await-member",
  decide({ endpoint }) {
    if (endpoint?.is === "present") return undefined;
    return wait("await-member", endpoint?.is === "unknown" ? endpoint.why : "it was not asked yet", RECHECK_MS);
  },
};
