import type { Side } from "#api/tls.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { SIDES } from "#cluster-tls/read/purposes.ts";
import { schemeChange } from "./changes.ts";
import { type ProviderChange, providerChanges } from "./provider-change.ts";

/** The progress of a provider change, as a message. `undefined` when there is none. */
export function providerChangeText(snapshot: ClusterSnapshot): string | undefined {
  return joined((side) => providerText(providerChanges(snapshot)[side], side));
}

/**
 * The part of `spec.tls` that the current member template does not contain yet, as a message. Clients served both ways,
 * and trust in a previous CA, do not count.
 */
export function pendingTls(given: ClusterSnapshot): string | undefined {
  const changes = providerChanges(effectiveTls(given));
  return joined((side) => {
    const change = changes[side];
    const isGiven = change?.round === "UseNew" && change.membersDone;
    return (isGiven ? undefined : providerText(change, side)) ?? pendingScheme(given, side);
  });
}

function joined(textOf: (side: Side) => string | undefined): string | undefined {
  const texts = SIDES.flatMap((side) => textOf(side) ?? []);
  return texts.length === 0 ? undefined : texts.join("; ");
}

function providerText(change: ProviderChange | undefined, side: Side): string | undefined {
  return change && `tls.${side}: ${roundText(change)}: ${change.waitsFor}`;
}

function roundText({ round, membersDone }: ProviderChange): string {
  switch (round) {
    case "Prepare":
      return "members keep their certificates, since the requested ones cannot be used yet";
    case "AcceptBoth":
      return membersDone
        ? "members trust the new CA, and clients are given time to trust it"
        : "members restart to trust the new CA";
    case "UseNew":
      return membersDone
        ? "members use the requested certificates, and still trust the previous CA"
        : "members restart with the requested certificates";
  }
}

function pendingScheme(given: ClusterSnapshot, side: Side): string | undefined {
  const change = schemeChange(given, side);
  if (change?.round === "Prepare") return `tls.${side}: ${change.waitsFor}`;
  if (side === "client") return undefined;
  if (change?.round === "AcceptBoth")
    return "tls.peer: members keep http peer URLs until every member can dial over TLS";
  const isKept = change?.to === "http" && memberTls(given)?.peer !== undefined;
  return isKept ? "tls.peer: members keep their certificates until every peer URL is http" : undefined;
}
