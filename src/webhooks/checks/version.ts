import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isRelease, whyNoPath } from "#etcd/version.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/**
 * Refuses a release to which the running members cannot be updated. Before any member runs, every release is accepted.
 * @param before the stored object; undefined for a new cluster
 */
export function versionRefusals(
  { version }: { readonly version: string },
  before: Pick<EtcdCluster, "spec" | "status"> | undefined,
): readonly Refusal[] {
  if (before === undefined || version === before.spec.version || !isRelease(version)) return [];
  const running = (before.status?.members ?? []).flatMap((member) => member.version ?? []).filter(isRelease);
  const [why] = [...new Set(running)].sort().flatMap((each) => whyNoPath(each, version) ?? []);
  return why === undefined ? [] : [{ field: "spec.version", message: `is ${version}; ${why}` }];
}
