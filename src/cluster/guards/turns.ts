import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { othersDown } from "#cluster/fitness.ts";
import { givesTurn, isHarmless } from "#cluster/guards/touched.ts";
import { ownArriving } from "#cluster/learners.ts";
import { intendedPeers, type KnownMember, knownMembers } from "#cluster/members.ts";
import { canary, isAboutToRestart, isOutdated } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterGuard } from "#cluster/step.ts";
import { isWaived } from "#cluster/waivers.ts";

/** One member at a time is arriving, or leaving, or being replaced. */
export const oneAtATime: ClusterGuard = {
  name: "one-at-a-time",
  forbids(snapshot, step) {
    switch (step.do) {
      case "addLearner":
        return busy(snapshot, { except: step.name });
      case "createPeer": {
        const isNew =
          step.peer.spec?.bootstrap?.initialClusterState === "Existing" && step.peer.spec.memberID === undefined;
        return isNew ? busy(snapshot, {}) : undefined;
      }
      case "restartPod":
        return isHarmless(snapshot, step)
          ? undefined
          : (busy(snapshot, { except: step.name }) ?? down(snapshot, step.name));
      case "replacePeer":
        return givesTurn(snapshot, step) ? whyNoTurn(snapshot, step.live.metadata.name) : undefined;
      case "removeMember":
        return isComing(snapshot, step.name) ? undefined : busy(snapshot, { except: step.name });
      case "markRemoval": {
        // To take a removal back begins nothing, and to give up somebody who is coming ends something.
        const { name } = step.peer.metadata;
        return step.removal === undefined || isComing(snapshot, name) ? undefined : busy(snapshot, { except: name });
      }
      default:
        return undefined;
    }
  },
};

function whyNoTurn(snapshot: ClusterSnapshot, name: string): string | undefined {
  return busy(snapshot, { except: name }) ?? down(snapshot, name) ?? turned(snapshot);
}

/** Says which other member does not do its part. */
function down(snapshot: ClusterSnapshot, name: string): string | undefined {
  // A quorum has to be left all the same, and whoever tries out what is new has to come up with it.
  const isExcused = ({ id }: KnownMember) => isWaived(snapshot, "members-healthy") && canary(snapshot)?.id !== id;
  const other = othersDown(snapshot, name).find((member) => !isExcused(member));
  return other === undefined ? undefined : `${other.name} does not do its part`;
}

/** Says which member is about to restart. With what is wanted no more nobody does. */
function turned(snapshot: ClusterSnapshot): string | undefined {
  const other = snapshot.peers.find((peer) => isAboutToRestart(snapshot, peer) && !isOutdated(snapshot, peer));
  return other === undefined ? undefined : `${other.metadata.name} is about to restart`;
}

function isComing(snapshot: ClusterSnapshot, name: string): boolean {
  return ownArriving(snapshot).some((member) => member.name === name);
}

/** Says who is on the way in or out besides `except`. */
function busy(snapshot: ClusterSnapshot, { except }: { except?: string }): string | undefined {
  const coming = ownArriving(snapshot).find(({ name }) => name !== except);
  if (coming !== undefined) return `${coming.name} is still joining`;
  const intended = intendedPeers(snapshot).find(({ metadata }) => metadata.name !== except);
  if (intended !== undefined) return `${intended.metadata.name} is about to join`;
  const listed = new Set(knownMembers(snapshot).map(({ name }) => name));
  const leaving = snapshot.peers.find(
    ({ metadata }) =>
      metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined && listed.has(metadata.name) && metadata.name !== except,
  );
  return leaving === undefined ? undefined : `${leaving.metadata.name} is still leaving`;
}
