import { providerOf, type Side } from "#api/tls.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { type ClusterSnapshot, remembered } from "#cluster/snapshot.ts";
import { membersTrustingMore, membersWithoutCa } from "#cluster-tls/check/trusted.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { SHOWN_ON } from "#cluster-tls/read/purposes.ts";
import { authorityOf, usable } from "#cluster-tls/read/usable.ts";
import { notTrustingText } from "#cluster-tls/read/words.ts";
import { caRotations } from "./ca-rotation.ts";
import type { TlsChange } from "./change.ts";
import { clientSchemeChange } from "./client-scheme.ts";
import { peerSchemeChange } from "./peer-scheme.ts";
import { providerChanges, sourceText } from "./provider-change.ts";
import { rejectionText } from "./trust-guards.ts";

type Recorded = NonNullable<NonNullable<NonNullable<EtcdClusterStatus["tls"]>["client"]>["change"]>;

/** The change of TLS on each side. Of several, the scheme comes first, then the provider, then the CA. */
export const tlsChanges = remembered((given): Readonly<Record<Side, TlsChange | undefined>> => {
  return { peer: changeOn(given, "peer"), client: changeOn(given, "client") };
});

function changeOn(given: ClusterSnapshot, side: Side): TlsChange | undefined {
  if (given.peers.length === 0) return undefined;
  const snapshot = effectiveTls(given);
  return (
    schemeChange(given, side) ??
    providerChanges(snapshot)[side] ??
    caRotations(snapshot)[side] ??
    bundleChange(snapshot, side)
  );
}

/** The change of the scheme: TLS on or off. Before members can have certificates, it is in round Prepare. */
export function schemeChange(given: ClusterSnapshot, side: Side): TlsChange | undefined {
  const isRequested = providerOf(given.cluster.spec, side) !== "None";
  if (isRequested && memberTls(given)?.[side] === undefined) {
    const waitsFor = "members run without TLS until their certificates exist";
    return { kind: "Scheme", from: "http", to: "https", round: "Prepare", waitsFor };
  }
  return side === "peer" ? peerSchemeChange(given) : clientSchemeChange(given);
}

/**
 * The change when the CAs in ca.crt of the members' Secret differ from those that members trust. The cause is the last
 * round of a rotation or provider change, or an edit of the Secret.
 */
function bundleChange(snapshot: ClusterSnapshot, side: Side): TlsChange | undefined {
  const shown = usable(snapshot, SHOWN_ON[side]);
  if (shown?.signerId === undefined) return undefined;
  const change = { kind: "CARotation", from: undefined, to: shown.signerId } as const;
  // Members keep the certificate that they trust.
  const waitsFor = rejectionText(snapshot, side, shown);
  if (waitsFor !== undefined) return { ...change, round: "Prepare", waitsFor };
  const to = shown.trustIds.find((id) => membersWithoutCa(snapshot, side, [id], shown.trust).length > 0);
  if (to !== undefined) {
    const from = to === shown.signerId ? undefined : shown.signerId;
    const lacking = membersWithoutCa(snapshot, side, shown.trustIds, shown.trust);
    return { ...change, from, to, round: "AcceptBoth", waitsFor: notTrustingText(lacking) };
  }
  // After step drop of a rotation, before the Secret of members is written.
  if (authorityOf(snapshot, side)?.trustIds.length === 1 && shown.trustIds.length > 1)
    return { ...change, round: "DropOld", waitsFor: `Secret ${shown.secretName} has to list the new CA only` };
  const late = membersTrustingMore(snapshot, side, shown.trust);
  if (late.length === 0) return undefined;
  return { ...change, round: "DropOld", waitsFor: `still to restart without the old CA: ${late.join(", ")}` };
}

/** The change as the status records it, for people and tools: no decision reads the record. */
export function recordedChange(given: ClusterSnapshot, side: Side): Recorded | undefined {
  const change = tlsChanges(given)[side];
  if (change === undefined) return undefined;
  const before = given.cluster.status?.tls?.[side]?.change;
  const { kind, from, to } = before !== undefined && isContinued(given, side, change, before) ? before : change;
  const isSame = before?.kind === kind && before.to === to;
  const startTime = isSame && before.round === change.round ? before.startTime : rfc3339(given.takenAtMs);
  return {
    kind,
    ...(from === undefined ? {} : { from }),
    to,
    round: change.round,
    startTime,
    waitsFor: change.waitsFor,
  };
}

/**
 * Whether the record is about the same change. In round DropOld the old source cannot be observed: kind, from and to
 * come from the record. A record of the opposite direction is dropped.
 */
function isContinued(given: ClusterSnapshot, side: Side, change: TlsChange, before: Recorded): boolean {
  if (change.from !== undefined) return false;
  if (before.kind === change.kind) return before.to === change.to;
  const isProviderLast = change.round === "DropOld" && before.kind === "Provider";
  return isProviderLast && before.to === sourceText(effectiveTls(given).cluster, side);
}
