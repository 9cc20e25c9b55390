import { providerOf, reachedBy } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { leftMs, servesBoth } from "#cluster-tls/change/client-scheme.ts";
import { membersWithoutCertificate } from "#cluster-tls/change/peer-scheme.ts";
import { wait } from "#runtime/decide.ts";

/** Rechecks for what sends no event, in milliseconds: changes of pods and members requeue the cluster. */
const RECHECK_MS = 10_000;
const MAX_RECHECK_MS = 600_000;

/** Reports what the next stage of turning TLS on or off waits for. */
export const switchTls: ClusterRule = {
  name: "switch-tls",
  decide(snapshot) {
    const { cluster, peers, takenAtMs } = snapshot;
    const isReached = peers.some(({ spec }) => reachedBy(spec) === "https");
    const bare = membersWithoutCertificate(snapshot);
    if (providerOf(cluster.spec, "peer") !== "None" && !isReached && peers.some(({ spec }) => spec.tls?.peer)) {
      const because = `peer URLs change to https once ${bare.join(", ")} can dial the others over TLS`;
      if (bare.length > 0) return wait("switch-tls", because, RECHECK_MS);
    }
    if (peers.length === 0 || !peers.every(({ spec }) => servesBoth(spec))) return undefined;
    const left = leftMs(snapshot);
    if (left === undefined)
      return wait("switch-tls", "members are being updated to serve clients both with and without TLS", RECHECK_MS);
    if (left === 0) return undefined;
    const kind = providerOf(cluster.spec, "client") === "None" ? "with" : "without";
    const because = `clients ${kind} TLS are served until ${rfc3339(takenAtMs + left)} (spec.tls.client.plaintextFor)`;
    return wait("switch-tls", because, Math.min(left, MAX_RECHECK_MS));
  },
};
