import { revisionOf } from "#api/revision.ts";
import { whyNotShape } from "#api/shape.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";
import { hasTrait } from "#cluster/step-traits.ts";
import { isHarmless, peerBefore, peerIn, specAfter } from "#cluster/touched.ts";
import { whyNotSpec } from "./refused-spec.ts";
import { whyNoPathTo, whyNotYet } from "./version-path.ts";

/** Forbids any step that gives a member a template that no member could run. */
export const runnableOnly: ClusterGuard = {
  name: "runnable-only",
  forbids(_, step) {
    const spec = peerIn(step)?.spec;
    if (spec === undefined) return undefined;
    // A member that already has this template gains nothing from a refusal.
    const before = peerBefore(step)?.spec;
    if (before !== undefined && revisionOf(before) === revisionOf(spec)) return undefined;
    return whyNotShape(spec, ETCD_PEERS.kind) ?? whyNotSpec(spec, spec.version, spec.clusterName)[0];
  },
};

/** No member gets, or restarts with, a release that has no path from the releases in use. */
export const versionPath: ClusterGuard = {
  name: "version-path",
  forbids(snapshot, step) {
    const version = versionAfter(snapshot, step);
    return version === undefined ? undefined : whyNoPathTo(snapshot, version);
  },
};

/**
 * No member gets an older minor before etcd's downgrade has converted its data, unless some member still runs that minor.
 * None gets a newer minor before all data has been converted back. None gets etcd 3.7 before each member has a raft
 * snapshot after all entries of etcd 3.5.
 */
export const downgradeEnabled: ClusterGuard = {
  name: "downgrade-enabled",
  forbids(snapshot, step) {
    const version = versionAfter(snapshot, step);
    const name = hasTrait(step, "remakesPod", true) ? step.name : peerIn(step)?.metadata.name;
    if (version === undefined || name === undefined || isHarmless(snapshot, step)) return undefined;
    return whyNotYet(snapshot, name, version);
  },
};

/**
 * The etcd release that the step gives to a member, or restarts it with. Undefined when the step does not change the
 * release.
 */
function versionAfter(snapshot: ClusterSnapshot, step: ClusterStep): string | undefined {
  const version = specAfter(snapshot, step)?.version;
  return version === ownVersion(snapshot, step) ? undefined : version;
}

/** The release of the member before the step. */
function ownVersion(snapshot: ClusterSnapshot, step: ClusterStep): string | undefined {
  const name = peerIn(step)?.metadata.name;
  const before = peerBefore(step)?.spec.version;
  return before ?? snapshot.cluster.status?.members?.find((member) => member.name === name)?.version;
}
