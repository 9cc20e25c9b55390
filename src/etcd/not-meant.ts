import { type EndpointStatus, hexOf } from "#etcd/types.ts";

/**
 * Clause that explains why the answer comes from another member than expected. Undefined when the IDs match.
 * @param clusterID ID of the expected cluster, in hexadecimal
 * @param memberID ID of the expected member, in hexadecimal
 */
export function whyNotMeant(
  { clusterId, memberId }: Pick<EndpointStatus, "clusterId" | "memberId">,
  clusterID: string | undefined,
  memberID: string,
): string | undefined {
  if (hexOf(clusterId) !== clusterID)
    return `it answers as part of cluster ${hexOf(clusterId)} instead of ${clusterID}`;
  return hexOf(memberId) === memberID ? undefined : `it answers as member ${hexOf(memberId)} instead of ${memberID}`;
}
