import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { recheckMs } from "#base/recheck.ts";
import { revisedPeer } from "#cluster/members/desired/peer.ts";
import { isSleepHeld } from "#cluster/members/dying-claims.ts";
import { containerOf, runningRevision } from "#cluster/members/member-state.ts";
import { ownVoters } from "#cluster/members/members.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { podTrouble } from "#cluster/update/fitness.ts";
import { isOutdated, lastGood, mayNeedNewTemplate, nextTemplate } from "#cluster/update/next-template.ts";
import { hasPendingRestart, isOnDelete, mayBeFixedByRestart } from "#cluster/update/pending-restart.ts";
import { awaitedText, waitingForDeletion } from "#cluster/update/update-status.ts";
import { unwaivedBlocker, waivedText } from "#cluster/update/waivers.ts";
import { templateOf } from "#cluster/update/wanted-template.ts";
import { step, type Waiting, wait } from "#runtime/decide.ts";
import { updateOrder } from "./restart-member.ts";

/** A fallback for lost events, in milliseconds: an event reports when a pod is deleted. */
const DELETION_RECHECK_MS = 10_000;

const UNFIT = { firstMs: 500, maxMs: 10_000 };

/**
 * Writes the wanted template to the next member: one at a time, and only while all others are fit. A member that fails
 * within its start timeout comes first: the new template may fix it.
 */
export const updateMember: ClusterRule = {
  name: "update-member",
  decide(snapshot) {
    if (isSleepHeld(snapshot)) return undefined;
    const next = updateOrder(snapshot).flatMap(({ name }) => {
      const peer = peerNamed(snapshot, name);
      return peer !== undefined && isOutdated(snapshot, peer) ? [peer] : [];
    });
    // Order: a member that does not start, since its template may be the cause and no other can restart. Then one with
    // a pending restart, since its template may have changed. Then the rest.
    const live =
      next.find((peer) => mayNeedNewTemplate(snapshot, peer)) ??
      next.find((peer) => hasPendingRestart(snapshot, peer)) ??
      next[0];
    if (live === undefined) return awaitDeletions(snapshot);
    const { name } = live.metadata;
    const template = nextTemplate(snapshot, live);
    // Cancelling a pending restart restarts no member, so it waits for none.
    const isRestartCancelled = revisionOf(template) === runningRevision(snapshot.pods.get(name));
    const changed = changedFields(templateOf(live), template);
    // A TLS-only change does not fix a member that is still starting. TLS changes roll out in stages, and it may be
    // starting with the previous one. Wait until it is up.
    const container = containerOf(snapshot, name);
    const isStarting = container.isNew && container.is !== "stopped";
    const mustStartFirst = changed.length === 1 && changed[0] === "tls" && isStarting;
    const unfit = ownVoters(snapshot).find(
      (member) =>
        !isRestartCancelled &&
        unwaivedBlocker(snapshot, member) !== undefined &&
        !mayBeFixedByRestart(snapshot, member) &&
        !(member.name === name && mayNeedNewTemplate(snapshot, live) && !mustStartFirst),
    );
    if (unfit !== undefined) {
      const because = `the update of ${name} waits until ${unfit.name} ${unwaivedBlocker(snapshot, unfit)}${podTrouble(snapshot, unfit.name)}`;
      const unfitMs = unfit.history.unfitForMs;
      return wait(because, recheckMs(unfitMs, UNFIT), { warn: unfitMs >= snapshot.memberTimeoutMs });
    }
    const what = newsText(templateOf(live), template, changed);
    const because = isRestartCancelled
      ? `${name} does not restart with its outdated template, and keeps the one that it runs: etcd ${template.version}`
      : `${templateText(snapshot, name, what)}; ${next.length - 1} more members follow${waivedText(snapshot, name)}`;
    const peer = revisedPeer(live, template, lastGood(live));
    return step(because, { do: "replacePeer", live, peer });
  },
};

/** When the member gets its new template, as a clause. */
function templateText(snapshot: ClusterSnapshot, name: string, what: string): string {
  return isOnDelete(snapshot)
    ? `the next pod of ${name} gets ${what} once its current pod is deleted`
    : `${name} is updated next: it gets ${what}`;
}

/** The fields of the template that differ. */
function changedFields(before: MemberTemplate, after: MemberTemplate): readonly (keyof MemberTemplate)[] {
  const name = revisionOf(before);
  return (["version", "image", "etcd", "tls", "podTemplate"] as const).filter(
    (field) => revisionOf({ ...before, [field]: after[field] } as MemberTemplate) !== name,
  );
}

/** Only the release is named when it changes. */
function newsText(before: MemberTemplate, after: MemberTemplate, changed: readonly string[]): string {
  return before.version === after.version
    ? `its new ${changed.join(" and ")}`
    : `etcd ${after.version} instead of ${before.version}`;
}

/** Waits for people to delete pods (OnDelete). While a member is unfit, that is reported instead. */
function awaitDeletions(snapshot: ClusterSnapshot): Waiting | undefined {
  const names = waitingForDeletion(snapshot);
  const isFit = ownVoters(snapshot).every((member) => member.lacks.length === 0);
  if (names.length === 0 || !isFit) return undefined;
  return wait(`${awaitedText(names)}: spec.updateStrategy.type is OnDelete`, DELETION_RECHECK_MS);
}
