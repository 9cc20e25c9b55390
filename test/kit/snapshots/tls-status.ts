import type { Side } from "#api/tls.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";

const SIDES: readonly Side[] = ["peer", "client"];

/** The status with these sources of the certificates in use, and nothing recorded for a side without one. */
export function issuedBy(
  status: EtcdClusterStatus | undefined,
  sources: { readonly peer?: object | undefined; readonly client?: object | undefined },
): EtcdClusterStatus {
  const sides = SIDES.map((side) => {
    const { issuedBy: _, ...rest } = status?.tls?.[side] ?? {};
    const source = sources[side];
    return [side, source === undefined ? rest : { ...rest, issuedBy: source }] as const;
  });
  return { ...status, tls: { ...status?.tls, ...Object.fromEntries(sides) } };
}
