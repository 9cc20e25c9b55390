import { revisionOf } from "#api/revision.ts";
import { whyNotShape } from "#api/shape.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { isHarmless, peerIn } from "#cluster/guards/touched.ts";
import { whyNotSpec } from "#cluster/refused-spec.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";
import { whyNoPathTo, whyNotYet } from "#cluster/version-path.ts";

/** What no member could run is given to none, whoever wrote it and whichever way it came. */
export const runnableOnly: ClusterGuard = {
  name: "runnable-only",
  forbids(_, step) {
    const spec = peerIn(step)?.spec;
    if (spec === undefined) return undefined;
    // Who has it already is none the better for being left alone.
    if (step.do === "replacePeer" && revisionOf(step.live.spec) === revisionOf(spec)) return undefined;
    return whyNotShape(spec, ETCD_PEERS.kind) ?? whyNotSpec(spec, spec.version, spec.clusterName)[0];
  },
};

/** No member gets a release, or restarts with one, that it cannot go to from what the cluster runs. */
export const versionPath: ClusterGuard = {
  name: "version-path",
  forbids(snapshot, step) {
    if (step.do === "restartPod") {
      const version = peerNamed(snapshot, step.name)?.spec.version;
      return version === undefined ? undefined : whyNoPathTo(snapshot, version);
    }
    const version = peerIn(step)?.spec?.version;
    if (version === undefined || version === ownVersion(snapshot, step)) return undefined;
    return whyNoPathTo(snapshot, version);
  },
};

/**
 * No member gets a release of an older minor, or restarts with one, before etcd's own downgrade has brought its data there; unless some member
 * still runs it, so that the cluster never spoke a later one. Nor one of a newer minor before all data has been converted back.
 */
export const downgradeEnabled: ClusterGuard = {
  name: "downgrade-enabled",
  forbids(snapshot, step) {
    if (step.do === "restartPod") {
      const version = peerNamed(snapshot, step.name)?.spec.version;
      return version === undefined || isHarmless(snapshot, step) ? undefined : whyNotYet(snapshot, step.name, version);
    }
    const peer = peerIn(step);
    if (peer?.spec === undefined) return undefined;
    const { version } = peer.spec;
    const { name } = peer.metadata;
    if (version === ownVersion(snapshot, step)) return undefined;
    return whyNotYet(snapshot, name, version);
  },
};

/** The release that the member of this EtcdPeer has already: it gets its own data back with what it ran. */
function ownVersion(snapshot: ClusterSnapshot, step: ClusterStep): string | undefined {
  if (step.do === "replacePeer") return step.live.spec.version;
  const name = peerIn(step)?.metadata.name;
  return snapshot.cluster.status?.members?.find((member) => member.name === name)?.version;
}
