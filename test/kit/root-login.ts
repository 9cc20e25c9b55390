import { rootSecretName } from "#api/names.ts";
import type { UserCluster } from "#kit/e2e.ts";
import { secretTexts } from "#kit/user-tls.ts";

/** How etcdctl in a member's container is let in as root: flags, none where nobody asks for users. */
export async function asRoot(cluster: UserCluster): Promise<readonly string[]> {
  const { spec } = await cluster.get();
  if (spec.auth?.enabled !== true) return [];
  return [`--user=root:${(await secretTexts(cluster, rootSecretName(cluster.name))).password}`];
}
