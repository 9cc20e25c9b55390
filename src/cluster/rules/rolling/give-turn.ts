import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { recheckMs } from "#base/recheck.ts";
import { revisedPeer } from "#cluster/desired/peer.ts";
import { isKeptAwake } from "#cluster/dying-claims.ts";
import { whyUnfit } from "#cluster/fitness.ts";
import { ownVoters } from "#cluster/members.ts";
import { unfitForMs } from "#cluster/patience.ts";
import {
  hasTurn,
  isMendedByTurn,
  isOnDelete,
  isOutdated,
  isYetToComeUp,
  lastGood,
  nextTemplate,
  templateOf,
} from "#cluster/rolling.ts";
import { turnOrder } from "#cluster/rules/rolling/restart-member.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { isStarting } from "#cluster/standstill.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { awaitedText, waitingForDeletion } from "#cluster/update-status.ts";
import { runningRevision } from "#cluster/versions.ts";
import { waivedText, whyAwaited } from "#cluster/waivers.ts";
import { step, type Wait, wait } from "#runtime/decide.ts";

/** Events tell when a pod goes; this is for those that never come, in milliseconds. */
const PEOPLE_RECHECK_MS = 10_000;

const UNFIT = { firstMs: 500, maxMs: 10_000 };

/**
 * The next member gets what the spec asks for: one at a time, and only while every other one can be counted on. Whoever takes part, and whose
 * pod has not been ready for long, goes first and is in nobody's way: the edit may be what mends what ails it.
 */
export const giveTurn: ClusterRule = {
  name: "give-turn",
  decide(snapshot) {
    if (isKeptAwake(snapshot)) return undefined;
    const next = turnOrder(snapshot).flatMap(({ name }) => {
      const peer = peerNamed(snapshot, name);
      return peer !== undefined && isOutdated(snapshot, peer) ? [peer] : [];
    });
    // Whoever has started a while ago and does not come up is first: what it has may be what ails it, and nobody else can restart meanwhile.
    // Then, when the wish has changed, whoever was about to restart: it may not have to restart at all.
    const live =
      next.find((peer) => isYetToComeUp(snapshot, peer)) ?? next.find((peer) => hasTurn(snapshot, peer)) ?? next[0];
    if (live === undefined) return awaitPeople(snapshot);
    const { name } = live.metadata;
    const template = nextTemplate(snapshot, live);
    // A turn that is taken back restarts nobody.
    const isTakenBack = revisionOf(template) === runningRevision(snapshot.pods.get(name));
    const news = newsOf(templateOf(live), template);
    // What is exchanged of certificates goes on in stages, by which nobody is mended who is just coming up with the one before.
    const comesUpFirst = news.length === 1 && news[0] === "tls" && isStarting(snapshot, live.metadata);
    const unfit = ownVoters(snapshot).find(
      (member) =>
        !isTakenBack &&
        whyAwaited(snapshot, member) !== undefined &&
        !isMendedByTurn(snapshot, member) &&
        !(member.name === name && isYetToComeUp(snapshot, live) && !comesUpFirst),
    );
    if (unfit !== undefined) {
      const because = `${name} has its turn once ${unfit.name} ${whyAwaited(snapshot, unfit)}`;
      const unfitMs = unfitForMs(snapshot, unfit);
      return wait("give-turn", because, recheckMs(unfitMs, UNFIT), { warn: unfitMs >= snapshot.memberTimeoutMs });
    }
    const what = newsText(templateOf(live), template, news);
    const whose = isOnDelete(snapshot)
      ? `the next pod of ${name} gets ${what}, when somebody deletes the one that runs`
      : `it is the turn of ${name}, which gets ${what}`;
    const because = isTakenBack
      ? `${name} does not restart with what was asked for before, and keeps what it runs: etcd ${template.version}`
      : `${whose}; ${next.length - 1} more will follow${waivedText(snapshot, name)}`;
    const peer = revisedPeer(live, template, lastGood(live));
    return step("give-turn", because, { do: "replacePeer", live, peer });
  },
};

/** What of a member's template is another one than before. */
function newsOf(before: MemberTemplate, after: MemberTemplate): readonly (keyof MemberTemplate)[] {
  const name = revisionOf(before);
  return (["version", "image", "etcd", "tls", "podTemplate"] as const).filter(
    (field) => revisionOf({ ...before, [field]: after[field] } as MemberTemplate) !== name,
  );
}

/** Another release says enough. */
function newsText(before: MemberTemplate, after: MemberTemplate, news: readonly string[]): string {
  return before.version === after.version
    ? `its new ${news.join(" and ")}`
    : `etcd ${after.version} instead of ${before.version}`;
}

/** With OnDelete, whose pods people have yet to delete; while somebody is unfit, that is told instead. */
function awaitPeople(snapshot: ClusterSnapshot): Wait | undefined {
  const names = waitingForDeletion(snapshot);
  const isFit = ownVoters(snapshot).every((member) => whyUnfit(snapshot, member) === undefined);
  if (names.length === 0 || !isFit) return undefined;
  return wait("give-turn", `${awaitedText(names)}: spec.updateStrategy.type is OnDelete`, PEOPLE_RECHECK_MS);
}
