import { enabledDowngrade } from "#cluster/downgrade.ts";
import { arriving } from "#cluster/learners.ts";
import { intendedPeers } from "#cluster/members.ts";
import { whyRefused } from "#cluster/rolling.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { whyNoVersionPath } from "#cluster/version-path.ts";
import { isSameMinor, minorOf } from "#etcd/version.ts";
import { step } from "#runtime/decide.ts";

/** A downgrade to what the spec does not ask for is cancelled, whoever has asked for it; so is one in the way of a member that joins. */
export const cancelDowngrade: ClusterRule = {
  name: "cancel-downgrade",
  decide(snapshot) {
    const enabled = enabledDowngrade(snapshot);
    if (enabled === undefined) return undefined;
    const { version } = snapshot.cluster.spec;
    const to = minorOf(enabled.to);
    const joining = arriving(snapshot)[0]?.name ?? intendedPeers(snapshot)[0]?.metadata.name;
    const isRefused = whyRefused(snapshot).length > 0 || whyNoVersionPath(snapshot) !== undefined;
    if (joining === undefined && (isRefused || isSameMinor(enabled.to, version))) return undefined;
    const why =
      joining === undefined ? `spec.version is ${version}` : `etcd lets nobody join meanwhile, and ${joining} is to`;
    return step("cancel-downgrade", `the downgrade to etcd ${to} is cancelled: ${why}`, { do: "cancelDowngrade", to });
  },
};
