import { CLAIM_RELEASE_ANNOTATION } from "#api/names.ts";
import { whyNotMeant } from "#etcd/not-meant.ts";
import { isRelease } from "#etcd/version.ts";
import { isOwnClaim, type PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Records on the claim the etcd release that last served its data. A recreated EtcdCluster starts the member with that
 * release.
 */
export const recordRelease: PeerRule = {
  name: "record-release",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    const release = answeredRelease(snapshot);
    if (claim === undefined || release === undefined || !isOwnClaim(snapshot, claim)) return undefined;
    if (claim.metadata.annotations?.[CLAIM_RELEASE_ANNOTATION] === release) return undefined;
    return step("record-release", `${peer.metadata.name} runs etcd ${release}`, {
      do: "annotateClaim",
      claim,
      annotations: { [CLAIM_RELEASE_ANNOTATION]: release },
    });
  },
};

/** The release that this member answered with; `undefined` for a custom build that is not a release. */
function answeredRelease({ endpoint, peer }: PeerSnapshot): string | undefined {
  const { clusterID, memberID } = peer.spec;
  if (endpoint?.is !== "present" || memberID === undefined) return undefined;
  const { version } = endpoint.value;
  return whyNotMeant(endpoint.value, clusterID, memberID) === undefined && isRelease(version) ? version : undefined;
}
