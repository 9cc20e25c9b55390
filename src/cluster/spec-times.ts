import { millisecondsOf } from "#api/duration.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";

// What the cluster says itself counts before what the operator was told for all of them.

/** The times of which a spec may say something, in milliseconds; what they mean stands below. */
export interface SpecTimes {
  readonly replaceAfterMs: number;
  readonly memberTimeoutMs: number;
}

/** The times that count for a cluster with this spec. @param defaults what counts where it does not say so */
export function timesOf(spec: EtcdClusterSpec, defaults: SpecTimes): SpecTimes {
  return {
    replaceAfterMs: replaceAfterMs(spec, defaults.replaceAfterMs),
    memberTimeoutMs: memberTimeoutMs(spec, defaults.memberTimeoutMs),
  };
}

/** How long a member may be lost before it is replaced, in milliseconds; infinite when it is never. */
function replaceAfterMs({ replacement }: EtcdClusterSpec, otherwiseMs: number): number {
  const after = replacement?.after;
  if (after === undefined) return otherwiseMs;
  return after === "Never" ? Number.POSITIVE_INFINITY : (millisecondsOf(after) ?? otherwiseMs);
}

/** How long the first member that an update restarts may take until it is healthy, in milliseconds. */
function memberTimeoutMs({ updateStrategy }: EtcdClusterSpec, otherwiseMs: number): number {
  return millisecondsOf(updateStrategy.memberTimeout ?? "") ?? otherwiseMs;
}
