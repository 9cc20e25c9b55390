import { isAuthWanted } from "#api/auth.ts";
import { rootSecretName } from "#api/names.ts";
import { hindranceOf } from "#cluster/auth/hindrance.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Creates the Secret with root's password when spec.auth.enabled is true. A lost Secret is replaced, with another
 * password.
 */
export const rootSecret: ClusterRule = {
  name: "root-secret",
  decide(snapshot) {
    const { cluster, auth } = snapshot;
    if (hindranceOf(snapshot)?.isForPeople) return undefined;
    if (isAuthWanted(cluster.spec) !== true || auth?.rootSecret.is !== "absent") return undefined;
    const because = `Secret ${rootSecretName(cluster.metadata.name)} gets a password for etcd's user root`;
    return step(because, { do: "createRootSecret" });
  },
};
