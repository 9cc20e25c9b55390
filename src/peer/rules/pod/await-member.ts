import { ETCD_CONTAINER } from "#api/names.ts";
import { recheckMs } from "#base/recheck.ts";
import { startedMsAgo } from "#kube/pod.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** No event tells when a member can be reached again, and its status should not be wrong for longer than a look takes. */
const RECHECK = { firstMs: 2_000, maxMs: 10_000 };

/** The pod is ready, but the member could not be asked: it is asked again soon. */
export const awaitMember: PeerRule = {
  name: "await-member",
  decide({ endpoint, pod, takenAtMs }) {
    if (endpoint?.is === "present") return undefined;
    const because = endpoint?.is === "unknown" ? endpoint.why : "it was not asked yet";
    const againMs =
      pod === undefined ? RECHECK.firstMs : recheckMs(startedMsAgo(pod, ETCD_CONTAINER, takenAtMs), RECHECK);
    return wait("await-member", because, againMs);
  },
};
