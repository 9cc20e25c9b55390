import { revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { memberNamed, takesPart } from "#cluster/members.ts";
import { hasTurn } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isDown } from "#cluster/standstill.ts";
import type { AuthStep, ClusterStep } from "#cluster/step.ts";
import type { Draft } from "#kube/kinds.ts";

/** Steps that change who is a member, or what becomes of a member's data. */
export const ABOUT_MEMBERSHIP: readonly ClusterStep["do"][] = [
  "addLearner",
  "disarmAlarm",
  "enableDowngrade",
  "cancelDowngrade",
  "promote",
  "updateMember",
  "moveLeader",
  "restartPod",
  "removeMember",
  "markRemoval",
  "releaseClaim",
  "deletePeer",
];

/** The EtcdPeer that the step writes; `undefined` for what writes none. */
export function peerIn(step: ClusterStep): Draft<EtcdPeer> | undefined {
  return step.do === "createPeer" || step.do === "replacePeer" ? step.peer : undefined;
}

/** A pod in which no etcd runs, or in which the only one hangs, can be made anew: that touches nobody. */
export function isHarmless(snapshot: ClusterSnapshot, step: ClusterStep): boolean {
  return step.do === "restartPod" && isDown(snapshot, step.name);
}

/** Who restarts by the step, now or when its turn comes, and takes part until then. */
export function restartedBy(snapshot: ClusterSnapshot, step: ClusterStep): string | undefined {
  if (step.do === "replacePeer") return givesTurn(snapshot, step) ? step.live.metadata.name : undefined;
  return step.do === "restartPod" && !isHarmless(snapshot, step) ? step.name : undefined;
}

/** Whether the member would have to restart that need not without the step. One that takes no part loses nothing by it. */
export function givesTurn(
  snapshot: ClusterSnapshot,
  { live, peer }: { live: EtcdPeer; peer: Draft<EtcdPeer> },
): boolean {
  const { name } = live.metadata;
  const member = memberNamed(snapshot, name);
  if (peer.spec === undefined || member === undefined || member.isLearner || !takesPart(snapshot, member)) return false;
  return revisionOf(peer.spec) !== revisionOf(live.spec) && !hasTurn(snapshot, live);
}

export function isAboutAuth(step: ClusterStep): step is AuthStep {
  return (AUTH_STEPS as readonly string[]).includes(step.do);
}

const AUTH_STEPS: readonly AuthStep["do"][] = [
  "createRootSecret",
  "setRootPassword",
  "addUser",
  "grantRole",
  "enableAuth",
  "disableAuth",
];
