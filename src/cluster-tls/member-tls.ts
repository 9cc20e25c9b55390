import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { clientCertificatesOf, type Side } from "#api/tls.ts";
import { isSameData } from "#base/hash.ts";
import { type ClusterSnapshot, remembered, type SeenCertificate } from "#cluster/snapshot.ts";
import { clientSide } from "#cluster-tls/change/client-scheme.ts";
import { peerSide } from "#cluster-tls/change/peer-scheme.ts";
import { isUnread, providerChanges } from "#cluster-tls/change/provider-change.ts";
import { membersRejecting, secretsInUse } from "#cluster-tls/check/trusted.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { abandonedName, certificateIn, previousTls } from "#cluster-tls/effective/previous.ts";
import { SHOWN_ON, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { isInTime, isOurs, usable } from "#cluster-tls/read/usable.ts";

type MemberTls = NonNullable<MemberTemplate["tls"]>;
type MemberSide = NonNullable<MemberTls["peer"]>;

// What happens to members when a Secret is deleted, edited or invalid?
//   Nothing. They keep the recorded template: no member restarts to replace what works by something worse.
// And when another CA signs the certificate in their Secret?
//   A member that restarts would be rejected by the others, and so would a running one. So no member restarts until all
//   trust that CA (guard members-trust-each-other).
// And when another Secret is requested?
//   First all members trust both CAs, then all use the new certificate, then none trusts the old CA
//   (change/provider-change.ts). Each round is a change of the member template, and progress is derived from EtcdPeers
//   and pods.
// And when a new CA signs the certificate in the same Secret?
//   Nothing reports when the kubelet has updated the mounted files, so nothing depends on that. While two CAs are
//   trusted, the template names the one that signs: a pod created from it has a certificate of that CA.
// And when spec.tls changes again during a provider change?
//   Members that use the second certificate return to the first one, because the second one is no longer managed. They
//   do so in the restart in which they begin to trust the third. If the first one is lost, all move on to the second
//   one while its Secret is valid. Otherwise members with the first one could never restart.

/**
 * The TLS part of the member template: what spec.tls requests, as far as certificates exist and are valid. The same
 * object while nothing changes.
 */
export const memberTls = remembered((snapshot): MemberTemplate["tls"] => {
  const { spec } = snapshot.cluster;
  // Members that lose TLS first change to http, with their certificates.
  const effective = effectiveTls(snapshot);
  const peer = peerSide(snapshot, sideTls(effective, "peer"));
  const client = clientSide(snapshot, sideTls(effective, "client"));
  if (spec.tls === undefined || (peer === undefined && client === undefined)) return undefined;
  const { minVersion, cipherSuites } = spec.tls;
  const tls: MemberTls = {
    ...(peer === undefined ? {} : { peer }),
    ...(client === undefined
      ? {}
      : { client: { ...client, clientCertificates: clientCertificatesOf(effective.cluster.spec) } }),
    ...(minVersion === undefined ? {} : { minVersion }),
    ...(cipherSuites === undefined ? {} : { cipherSuites }),
  };
  return snapshot.peers.map((each) => each.spec.tls).find((each) => isSameData(each, tls)) ?? tls;
});

function sideTls(snapshot: ClusterSnapshot, side: Side): MemberSide | undefined {
  const { cluster } = snapshot;
  const live = sideOfMost(snapshot, side);
  const secretName = secretNameOf(cluster, SHOWN_ON[side]);
  const shown = usable(snapshot, SHOWN_ON[side]);
  const change = providerChanges(snapshot)[side];
  if (live === undefined) return shown && sideFor(snapshot, shown);
  // No return to the previous certificate for a Secret that could not be read: it may be as valid as before.
  if (change?.round === "Prepare")
    return (isUnread(snapshot, side) ? undefined : backToPrevious(snapshot, side, live, change.bundle)) ?? live;
  if (secretName === undefined || shown === undefined) return live;
  if (change?.round === "AcceptBoth")
    return backToPrevious(snapshot, side, live, change.bundle) ?? { ...live, trust: change.bundle };
  if (change !== undefined)
    return change.membersDone ? { ...live, secretName, trust: change.bundle } : { secretName, trust: change.bundle };
  // A member restarted with an untrusted certificate would be rejected. Members trust the CA first, from the Secret's
  // bundle.
  return membersRejecting(snapshot, side, shown).length === 0 ? sideFor(snapshot, shown) : live;
}

/**
 * The template side for a Secret. No signer for user-provided Secrets: only the user knows when a rotation is complete.
 */
function sideFor(snapshot: ClusterSnapshot, shown: SeenCertificate): MemberSide {
  const { secretName, trust, trustIds, signerId } = shown;
  const hasSigner = isOurs(snapshot, shown) && trustIds.length > 1 && signerId !== undefined;
  return { secretName, trust, ...(hasSigner ? { signer: signerId } : {}) };
}

/**
 * The certificate to return to when spec.tls changed again during a provider change. While it is valid and all members
 * trust it, the one recorded as in use, which is managed; otherwise the abandoned one. `undefined` when members use
 * nothing else.
 */
function backToPrevious(
  snapshot: ClusterSnapshot,
  side: Side,
  live: MemberSide,
  trust: string,
): MemberSide | undefined {
  const previous = previousTls(snapshot);
  if (previous === undefined) return undefined;
  const isAlone = [...secretsInUse(snapshot, side)].every((each) => each === live.secretName);
  if (isAlone && live.secretName === secretNameOf(previous.cluster, SHOWN_ON[side])) return undefined;
  const abandoned = isAlone ? undefined : abandonedName(snapshot.cluster, snapshot, side);
  const first = usable(previous, SHOWN_ON[side]);
  const second = abandoned === undefined ? undefined : certificateIn(snapshot, side, abandoned);
  const good = [first, second].find((shown) => shown !== undefined && isGood(snapshot, side, shown));
  return good && { secretName: good.secretName, trust };
}

/** Whether a member that restarts with it starts, and is trusted. */
function isGood(snapshot: ClusterSnapshot, side: Side, shown: SeenCertificate): boolean {
  const isWhole = shown.trouble === undefined && isInTime(snapshot, shown);
  return isWhole && membersRejecting(snapshot, side, shown).length === 0;
}

/** The recorded side of members; of several, the one that the current update rolls out, else the most frequent. */
function sideOfMost(snapshot: ClusterSnapshot, side: Side): MemberSide | undefined {
  const { cluster, peers } = snapshot;
  const given = peers.find(({ spec }) => revisionOf(spec) === cluster.status?.update?.revision);
  const all = peers.flatMap(({ spec }) => spec.tls?.[side] ?? []);
  const count = (one: MemberSide) => all.filter((each) => isSameData(each, one)).length;
  const most = given?.spec.tls?.[side] ?? [...all].sort((a, b) => count(b) - count(a))[0];
  if (most === undefined) return undefined;
  const { secretName, trust, signer } = most;
  return { secretName, trust, ...(signer === undefined ? {} : { signer }) };
}
