import { providerOf, type Side } from "#api/tls.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { SIDES } from "#cluster-tls/read/purposes.ts";
import { providerChanges } from "./provider-change.ts";

/** The progress of a provider change, as a message. `undefined` when there is none. */
export function providerChangeText(snapshot: ClusterSnapshot): string | undefined {
  const told = SIDES.flatMap((side) => providerChangeTextOn(snapshot, side) ?? []);
  return told.length === 0 ? undefined : told.join("; ");
}

function providerChangeTextOn(snapshot: ClusterSnapshot, side: Side): string | undefined {
  const change = providerChanges(snapshot)[side];
  return change.at === "settled" ? undefined : `tls.${side}: ${ROUND_TEXTS[change.at]}: ${change.why}`;
}

const ROUND_TEXTS = {
  waiting: "members keep their certificates, since the requested ones cannot be used yet",
  trust: "members restart to trust the new CA",
  tell: "members trust the new CA, and clients are given time to trust it",
  show: "members restart with the requested certificates",
  hand: "members use the requested certificates, and still trust the previous CA",
} as const;

/**
 * What `spec.tls` requests and members cannot be given yet, although they run all that they can be given now.
 * `undefined` when nothing is missing. Serving clients both ways, and trusting a previous CA too, is part of what
 * members are to run and does not count.
 */
export function pendingTls(given: ClusterSnapshot): string | undefined {
  const snapshot = effectiveTls(given);
  const both = providerChanges(snapshot);
  const told = SIDES.flatMap((side) => {
    const change = both[side].at === "hand" ? undefined : providerChangeTextOn(snapshot, side);
    return change ?? whyNotSpeaking(given, side) ?? [];
  });
  return told.length === 0 ? undefined : told.join("; ");
}

function whyNotSpeaking(snapshot: ClusterSnapshot, side: Side): string | undefined {
  const tls = memberTls(snapshot);
  const isAsked = providerOf(snapshot.cluster.spec, side) !== "None";
  if (isAsked && tls?.[side] === undefined)
    return `tls.${side}: members run without TLS until their certificates exist`;
  if (side === "client" || tls?.peer?.scheme !== "http") return undefined;
  return isAsked
    ? "tls.peer: members keep http peer URLs until every member can dial over TLS"
    : "tls.peer: members keep their certificates until every peer URL is http";
}
