import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import { recheckMs } from "#base/recheck.ts";
import { revisedPeer } from "#cluster/desired/peer.ts";
import { ownVoters, sick } from "#cluster/members.ts";
import { unfitForMs } from "#cluster/patience.ts";
import { hasTurn, isOutdated, isYoung, nextTemplate, templateOf, whyUnfit } from "#cluster/rolling.ts";
import { leaderLast } from "#cluster/rules/rolling/restart-member.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step, wait } from "#runtime/decide.ts";

const UNFIT = { firstMs: 500, maxMs: 10_000 };

/** The next member gets what the spec asks for: one at a time, and only while every other one can be counted on. */
export const giveTurn: ClusterRule = {
  name: "give-turn",
  decide(snapshot) {
    const next = leaderLast(snapshot).flatMap(({ name }) => {
      const peer = peerNamed(snapshot, name);
      return peer !== undefined && isOutdated(snapshot, peer) ? [peer] : [];
    });
    // When the wish has changed, whoever was about to restart learns it before anybody else: it may not have to restart at all.
    // Then whoever got something new a while ago and takes no part: its wish may be what ails it, and nobody else can restart meanwhile.
    const isSick = (peer: EtcdPeer) => isTried(snapshot, peer);
    const live = next.find((peer) => hasTurn(snapshot, peer)) ?? next.find(isSick) ?? next[0];
    if (live === undefined) return undefined;
    const { name } = live.metadata;
    const unfit = ownVoters(snapshot).find(
      (member) => whyUnfit(snapshot, member) !== undefined && !(member.name === name && isSick(live)),
    );
    if (unfit !== undefined) {
      const because = `${name} has its turn once ${unfit.name} ${whyUnfit(snapshot, unfit)}`;
      const unfitMs = unfitForMs(snapshot, unfit);
      return wait("give-turn", because, recheckMs(unfitMs, UNFIT), { warn: unfitMs >= snapshot.memberTimeoutMs });
    }
    const template = nextTemplate(snapshot, live);
    const { version } = live.spec;
    const what =
      version === template.version ? "its new podTemplate" : `etcd ${template.version} instead of ${version}`;
    const because = `it is the turn of ${name}, which gets ${what}; ${next.length - 1} more will follow`;
    // Who has yet to restart, or does not come up, goes back to what it was well with.
    const isOnItsWay = hasTurn(snapshot, live) || isSick(live);
    const lastGood = (isOnItsWay ? live.spec.previous : undefined) ?? templateOf(live);
    return step("give-turn", because, { do: "replacePeer", live, peer: revisedPeer(live, template, lastGood) });
  },
};

/** Whether the member was restarted with something new, and has not come up yet. */
function isTried(snapshot: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  const member = sick(snapshot).find(({ name }) => name === metadata.name);
  return member !== undefined && spec.previous !== undefined && isYoung(snapshot, member);
}
