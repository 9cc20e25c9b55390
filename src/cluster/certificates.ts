import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { areClientsVerified, type Side } from "#api/tls.ts";
import { isSameData } from "#base/hash.ts";
import { clientSide } from "#cluster/certificates/both-served.ts";
import { courses, isUnread } from "#cluster/certificates/course.ts";
import { betweenName, formerTls, shownIn } from "#cluster/certificates/former.ts";
import { keptTls } from "#cluster/certificates/kept.ts";
import { SHOWN_ON, secretNameOf } from "#cluster/certificates/purposes.ts";
import { peerSide } from "#cluster/certificates/scheme.ts";
import { secretsInUse, withoutBelief } from "#cluster/certificates/trusted.ts";
import { isInTime, isOurs, usable } from "#cluster/certificates/usable.ts";
import { type ClusterSnapshot, remembered, type SeenCertificate } from "#cluster/snapshot.ts";

type MemberTls = NonNullable<MemberTemplate["tls"]>;
type MemberSide = NonNullable<MemberTls["peer"]>;

// What becomes of members when a Secret is deleted, edited, or of no use?
//   Nothing. What they have on record stays there: nobody restarts for what is worse than what works.
// And when they show what somebody else has signed?
//   Whoever restarts then is out, and so is who does not: until all of them trust that, nobody restarts for it (guard still-believed).
// And when it comes from another Secret than before?
//   First everybody trusts both, then everybody shows the new one, then nobody trusts the old one (certificates/course.ts). Each of it is a
//   change of what members run, and how far it has come is read off EtcdPeers and pods.
// And when another authority signs what the same Secret holds?
//   Nobody tells when the kubelet has brought that into a pod, so nothing is built on it. While two authorities are trusted, members get by name
//   which one signs: a pod that was made from that has what it has signed.
// And when yet another one is asked for half way?
//   Those that show the second one already go back to the first one, in the restart in which they come to trust the third: nobody looks after the
//   second one any more. Where the first one is lost, they all go on to the second one as long as its Secret is good: else those that show the
//   first one could never restart again.

/** What members get of what `spec.tls` asks for: what has been issued, and is good. The same object while nothing changes. */
export const memberTls = remembered((snapshot): MemberTemplate["tls"] => {
  const { spec } = snapshot.cluster;
  // Who is to have nothing any more is first reached, and served, without it.
  const kept = keptTls(snapshot);
  const peer = peerSide(snapshot, sideTls(kept, "peer"));
  const client = clientSide(snapshot, sideTls(kept, "client"));
  if (spec.tls === undefined || (peer === undefined && client === undefined)) return undefined;
  const { minVersion, cipherSuites } = spec.tls;
  const tls: MemberTls = {
    ...(peer === undefined ? {} : { peer }),
    ...(client === undefined ? {} : { client: { ...client, verifyClients: areClientsVerified(kept.cluster.spec) } }),
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
  const course = courses(snapshot)[side];
  if (live === undefined) return shown && saidBy(snapshot, shown);
  // For what nobody could look at nobody goes back: the next look may find it as good as the one before.
  if (course.at === "waiting")
    return (isUnread(snapshot, side) ? undefined : backToFormer(snapshot, side, live, course.both)) ?? live;
  if (secretName === undefined || shown === undefined) return live;
  switch (course.at) {
    case "trust":
    case "tell":
      return backToFormer(snapshot, side, live, course.both) ?? { ...live, trust: course.both };
    case "show":
      return { secretName, trust: course.both };
    case "hand":
      return { ...live, secretName, trust: course.both };
    case "settled": {
      // Who restarted with what the others do not trust would be out. They are to trust it first, by what the Secret says before it shows it.
      const isBelieved = withoutBelief(snapshot, side, shown).length === 0;
      return isBelieved ? saidBy(snapshot, shown) : live;
    }
  }
}

/** What members get by what a Secret says. Who brings their own say nothing here of who signs: they alone know when they are done. */
function saidBy(snapshot: ClusterSnapshot, shown: SeenCertificate): MemberSide {
  const { secretName, trust, trustIds, signerId } = shown;
  const isTold = isOurs(snapshot, shown) && trustIds.length > 1 && signerId !== undefined;
  return { secretName, trust, ...(isTold ? { signer: signerId } : {}) };
}

/**
 * What members get meanwhile that were on their way to something else when what is asked for by now was: what the cluster has on record as in use, as
 * long as it is good and all of them believe it. It is looked after, and what they were to show is not any more. Where it is lost, what some were to show
 * in between has to do. `undefined` when they show that alone.
 */
function backToFormer(snapshot: ClusterSnapshot, side: Side, live: MemberSide, trust: string): MemberSide | undefined {
  const former = formerTls(snapshot);
  if (former === undefined) return undefined;
  const isAlone = [...secretsInUse(snapshot, side)].every((each) => each === live.secretName);
  if (isAlone && live.secretName === secretNameOf(former.cluster, SHOWN_ON[side])) return undefined;
  const between = isAlone ? undefined : betweenName(snapshot.cluster, snapshot, side);
  const first = usable(former, SHOWN_ON[side]);
  const second = between === undefined ? undefined : shownIn(snapshot, side, between);
  const good = [first, second].find((shown) => shown !== undefined && isGood(snapshot, side, shown));
  return good && { secretName: good.secretName, trust };
}

/** Whether whoever restarts with it comes up, and is believed. */
function isGood(snapshot: ClusterSnapshot, side: Side, shown: SeenCertificate): boolean {
  const isWhole = shown.trouble === undefined && isInTime(snapshot, shown);
  return isWhole && withoutBelief(snapshot, side, shown).length === 0;
}

/** What members have on record; of several the one that is being given to all, else that of most. */
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
