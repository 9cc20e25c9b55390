import type { ClusterRule } from "#cluster/step.ts";
import { clientSchemeChange, remainingMs, servesBoth } from "#cluster-tls/change/client-scheme.ts";
import { membersWithoutCertificate, peerSchemeChange } from "#cluster-tls/change/peer-scheme.ts";
import { wait } from "#runtime/decide.ts";

/** Rechecks for what sends no event, in milliseconds: changes of pods and members requeue the cluster. */
const RECHECK_MS = 10_000;
const MAX_RECHECK_MS = 600_000;

/** Reports what the next round of turning TLS on or off waits for. */
export const switchTls: ClusterRule = {
  name: "switch-tls",
  decide(snapshot) {
    const { peers } = snapshot;
    const peer = peerSchemeChange(snapshot);
    const hasCertificates = peers.some(({ spec }) => spec.tls?.peer !== undefined);
    if (peer?.round === "AcceptBoth" && hasCertificates && membersWithoutCertificate(snapshot).length > 0)
      return wait(peer.waitsFor, RECHECK_MS);
    const client = clientSchemeChange(snapshot);
    if (client === undefined || !peers.every(({ spec }) => servesBoth(spec))) return undefined;
    if (client.round === "AcceptBoth") return wait(client.waitsFor, RECHECK_MS);
    if (client.round !== "UseNew") return undefined;
    return wait(client.waitsFor, Math.min(remainingMs(snapshot) ?? MAX_RECHECK_MS, MAX_RECHECK_MS));
  },
};
