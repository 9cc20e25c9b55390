import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isRelease, whyNoPath } from "#etcd/version.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/**
 * A release to which members cannot go from what they say that they run. Who has yet to run may run any.
 * @param before the cluster as it was; undefined for a new one
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
