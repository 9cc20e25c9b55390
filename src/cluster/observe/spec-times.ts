import { millisecondsOf } from "#api/duration.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";

// The spec of a cluster takes precedence over the operator's flags.

/** Times that a spec may set, in milliseconds; explained below. */
export interface SpecTimes {
  readonly replaceAfterMs: number;
  readonly memberTimeoutMs: number;
}

/** The times of a cluster with this spec. @param defaults for times that the spec does not set */
export function timesOf(spec: EtcdClusterSpec, defaults: SpecTimes): SpecTimes {
  return {
    replaceAfterMs: replaceAfterMs(spec, defaults.replaceAfterMs),
    memberTimeoutMs: memberTimeoutMs(spec, defaults.memberTimeoutMs),
  };
}

/** How long a member may be lost before it is replaced, in milliseconds; infinite for Never. */
function replaceAfterMs({ replacement }: EtcdClusterSpec, otherwiseMs: number): number {
  if (replacement?.policy === "Never") return Number.POSITIVE_INFINITY;
  return millisecondsOf(replacement?.after ?? "") ?? otherwiseMs;
}

/** Time in which the first member of an update must become healthy, in milliseconds. */
function memberTimeoutMs({ updateStrategy }: EtcdClusterSpec, otherwiseMs: number): number {
  return millisecondsOf(updateStrategy.memberTimeout ?? "") ?? otherwiseMs;
}
