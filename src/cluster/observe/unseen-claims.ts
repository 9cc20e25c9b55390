import { isToSleep } from "#api/sleep.ts";
import { type Observed, present, unknown } from "#base/observed.ts";
import { nextToJoin } from "#cluster/members/growth.ts";
import { ownJoining } from "#cluster/members/learners.ts";
import { ownVoters } from "#cluster/members/members.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";
import type { KubeClient } from "#kube/client.ts";
import { PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim } from "#kube/kinds.ts";

// Why is the API server asked, although claims are cached?
//   The cache has only claims with the operator's label. A claim without it still occupies its name. The member of that
//   name would be added,
//   find no claim of its own, be removed, and be added again under the same name, endlessly.

/**
 * How many names are tried in one pass. Fewer: a cluster beside many such claims is not healed. More: each costs a
 * request, in every pass until a member is added.
 */
const MOST_NAMES = 10;

/** Whether a member is about to be added, so that its name must be free. */
function isAboutToGrow(snapshot: ClusterSnapshot): boolean {
  const { cluster, members } = snapshot;
  if (members.is !== "present" || isForming(snapshot) || isToSleep(cluster)) return false;
  return ownVoters(snapshot).length < cluster.spec.replicas && ownJoining(snapshot).length === 0;
}

/** Claims with the names of future members that no cache shows; unknown when the API server does not answer. */
export async function findUnseenClaims(
  kube: Pick<KubeClient, "find">,
  snapshot: ClusterSnapshot,
  signal: AbortSignal,
): Promise<Observed<readonly PersistentVolumeClaim[]>> {
  const found: PersistentVolumeClaim[] = [];
  if (!isAboutToGrow(snapshot)) return present(found);
  const { namespace } = snapshot.cluster.metadata;
  while (found.length < MOST_NAMES) {
    const { name, intent, leaving } = nextToJoin({ ...snapshot, unseenClaims: present(found) });
    // The next member waits for this name: its earlier claim or pod is still being deleted.
    if (intent === undefined && leaving) return present(found);
    const claim = await kube.find(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, { signal });
    if (claim.is === "unknown") return unknown(`it is not known whether claim ${name} exists: ${claim.why}`);
    if (claim.is === "absent") return present(found);
    found.push(claim.value);
    if (intent !== undefined) return present(found);
  }
  const names = found.map(({ metadata }) => metadata.name).join(", ");
  return unknown(`claims have the names of the next members: ${names}; delete those that are not needed`);
}
