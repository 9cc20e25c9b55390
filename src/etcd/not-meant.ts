import { type EndpointStatus, hexOf } from "#etcd/types.ts";

/**
 * Why whoever answers is not the member that is meant, as a clause; `undefined` when it is.
 * @param clusterID whose member it has to be, in hexadecimal
 * @param memberID who it has to be, in hexadecimal
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
