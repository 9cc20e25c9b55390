import { isSameData } from "#base/hash.ts";
import { unmanagedText } from "#cluster/auth/unmanaged.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { notice } from "#runtime/decide.ts";

/**
 * Reports users and roles in etcd that no EtcdUser and no EtcdRole names. They are left alone. One event reports them;
 * `status.auth` lists them from then on.
 */
export const unmanagedNames: ClusterRule = {
  name: "unmanaged-names",
  decide({ cluster, auth }) {
    const unmanaged = auth?.unmanaged;
    if (unmanaged === undefined || isSameData(unmanaged, cluster.status?.auth?.unmanaged ?? {})) return undefined;
    const text = unmanagedText(unmanaged);
    return text === undefined ? undefined : notice(text);
  },
};
