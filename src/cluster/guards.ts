import { administratorFirst, authIsAsked, loginStays } from "#cluster/guards/auth.ts";
import { askedToDelete, dyingClaimIsHeld, notAMember } from "#cluster/guards/claims.ts";
import { bootstrapOnce, identityFirst, joinedIsSeen, restoredFirst, tlsIsSaid } from "#cluster/guards/identity.ts";
import { ownOnly } from "#cluster/guards/ownership.ts";
import { keepQuorum, needMemberList, restartKeepsQuorum } from "#cluster/guards/quorum.ts";
import { downgradeEnabled, runnableOnly, versionPath } from "#cluster/guards/releases.ts";
import { allowedSecrets, shownWhenTrusted, stillBelieved } from "#cluster/guards/shown.ts";
import { sleepIsAsked, sleepKeepsMembers } from "#cluster/guards/sleep.ts";
import { tlsStepwise } from "#cluster/guards/tls-switch.ts";
import { authorityKept, trustedFirst, trustKept } from "#cluster/guards/trust.ts";
import { oneAtATime } from "#cluster/guards/turns.ts";
import { alarmIsOver, fenceBeforeVote, nobodyVouches } from "#cluster/guards/votes.ts";
import type { ClusterGuard } from "#cluster/step.ts";

/** These are the invariants of a cluster. Each may hold back a step of any rule; the first one that does gives the wait its name. */
export const CLUSTER_GUARDS: readonly ClusterGuard[] = [
  identityFirst,
  tlsIsSaid,
  restoredFirst,
  bootstrapOnce,
  runnableOnly,
  joinedIsSeen,
  sleepIsAsked,
  sleepKeepsMembers,
  needMemberList,
  keepQuorum,
  restartKeepsQuorum,
  versionPath,
  downgradeEnabled,
  oneAtATime,
  fenceBeforeVote,
  nobodyVouches,
  notAMember,
  alarmIsOver,
  askedToDelete,
  dyingClaimIsHeld,
  tlsStepwise,
  allowedSecrets,
  trustedFirst,
  shownWhenTrusted,
  trustKept,
  stillBelieved,
  authorityKept,
  authIsAsked,
  administratorFirst,
  loginStays,
  ownOnly,
];
