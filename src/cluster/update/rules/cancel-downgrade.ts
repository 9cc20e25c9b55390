import { joiningName } from "#cluster/members/learners.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { enabledDowngrade } from "#cluster/update/downgrade.ts";
import { isDowngradeForSnapshots } from "#cluster/update/raft-entries.ts";
import { isSpoken, versionsInUse, whyNoVersionPath } from "#cluster/update/version-path.ts";
import { whyRefused } from "#cluster/update/wanted-template.ts";
import { isOlderMinor, isSameMinor, minorOf } from "#etcd/version.ts";
import { step } from "#runtime/decide.ts";

/**
 * Cancels an enabled downgrade that the spec does not ask for, even one enabled by hand, and one that blocks a member
 * from joining.
 */
export const cancelDowngrade: ClusterRule = {
  name: "cancel-downgrade",
  decide(snapshot) {
    const enabled = enabledDowngrade(snapshot);
    if (enabled === undefined) return undefined;
    const { version } = snapshot.cluster.spec;
    const to = minorOf(enabled.to);
    const joining = joiningName(snapshot);
    const isRefused = whyRefused(snapshot).length > 0 || whyNoVersionPath(snapshot) !== undefined;
    const mayBeMeant = isRefused && mayBeAsked(snapshot, enabled.to);
    if (joining === undefined && (mayBeMeant || isSameMinor(enabled.to, version) || isDowngradeForSnapshots(snapshot)))
      return undefined;
    const why =
      joining === undefined
        ? `spec.version is ${version}`
        : `etcd lets no member join during a downgrade, and ${joining} has to join`;
    return step(`the downgrade to etcd ${to} is cancelled: ${why}`, { do: "cancelDowngrade", to });
  },
};

/**
 * Whether a refused spec may still need a downgrade to this release. Then a voter runs that minor, or `spec.version` is
 * older than a release in use. Otherwise the downgrade was only for the raft snapshots, and data would stay in the
 * older format.
 */
function mayBeAsked(snapshot: ClusterSnapshot, to: string): boolean {
  const { version } = snapshot.cluster.spec;
  return isSpoken(snapshot, to) || versionsInUse(snapshot).some((each) => isOlderMinor(version, each));
}
