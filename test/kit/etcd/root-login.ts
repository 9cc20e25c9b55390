import { rootSecretName } from "#api/names.ts";
import type { UserCluster } from "#kit/e2e/e2e.ts";
import { secretTexts } from "#kit/e2e/user-tls.ts";

/** Flags that authenticate etcdctl in a member's container as root; none without authentication. */
export async function asRoot(cluster: UserCluster): Promise<readonly string[]> {
  const { spec } = await cluster.get();
  if (spec.auth?.enabled !== true) return [];
  return [`--user=root:${(await secretTexts(cluster, rootSecretName(cluster.name))).password}`];
}
