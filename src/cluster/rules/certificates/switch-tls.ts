import { providerOf, reachedBy } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { leftMs, servesBoth } from "#cluster/certificates/both-served.ts";
import { withoutPair } from "#cluster/certificates/scheme.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Pods and members wake the cluster; this is for what does not. In milliseconds. */
const RECHECK_MS = 10_000;
const MAX_RECHECK_MS = 600_000;

/** Members go over to TLS, or back, step by step: it is told what the next one waits for. */
export const switchTls: ClusterRule = {
  name: "switch-tls",
  decide(snapshot) {
    const { cluster, peers, takenAtMs } = snapshot;
    const isReached = peers.some(({ spec }) => reachedBy(spec) === "https");
    const bare = withoutPair(snapshot);
    if (providerOf(cluster.spec, "peer") !== "None" && !isReached && peers.some(({ spec }) => spec.tls?.peer)) {
      const because = `members go over to TLS between them once ${bare.join(", ")} can dial the others so`;
      if (bare.length > 0) return wait("switch-tls", because, RECHECK_MS);
    }
    if (peers.length === 0 || !peers.every(({ spec }) => servesBoth(spec))) return undefined;
    const left = leftMs(snapshot);
    if (left === undefined)
      return wait("switch-tls", "every member is about to serve clients with TLS and without", RECHECK_MS);
    if (left === 0) return undefined;
    const kind = providerOf(cluster.spec, "client") === "None" ? "with" : "without";
    const because = `clients ${kind} TLS are served until ${rfc3339(takenAtMs + left)} (spec.tls.client.plaintextFor)`;
    return wait("switch-tls", because, Math.min(left, MAX_RECHECK_MS));
  },
};
