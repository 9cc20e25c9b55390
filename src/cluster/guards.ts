import { administratorFirst, authIsAsked, loginStays } from "#cluster/auth/guards.ts";
import {
  bootstrapOnce,
  identityFirst,
  identityIsHere,
  joinedIsSeen,
  restoredFirst,
  tlsIsDecided,
} from "#cluster/identity/guards.ts";
import { ownOnly } from "#cluster/identity/ownership-guard.ts";
import { sleepIsAsked, sleepKeepsMembers } from "#cluster/lifecycle/guards.ts";
import { oneAtATime } from "#cluster/members/change-guard.ts";
import { askedToDelete, dyingClaimIsHeld, notAMember } from "#cluster/members/claim-guards.ts";
import { keepQuorum, needMemberList, restartKeepsQuorum } from "#cluster/members/guards.ts";
import { alarmIsOver, fenceBeforeVote, noSignOfLife } from "#cluster/members/vote-guards.ts";
import { downgradeEnabled, runnableOnly, versionPath } from "#cluster/update/guards.ts";
import { tlsStepwise } from "#cluster-tls/change/scheme-guards.ts";
import { authorityKept, trustedFirst, trustKept } from "#cluster-tls/change/trust-guards.ts";
import { allowedSecrets, certificateIsTrusted, membersTrustEachOther } from "#cluster-tls/check/guards.ts";
import type { ClusterGuard } from "./step.ts";

/** The invariants of a cluster. Each may hold back a step of any rule; the first that does gives the wait its name. */
export const CLUSTER_GUARDS: readonly ClusterGuard[] = [
  identityFirst,
  identityIsHere,
  tlsIsDecided,
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
  noSignOfLife,
  notAMember,
  alarmIsOver,
  askedToDelete,
  dyingClaimIsHeld,
  tlsStepwise,
  allowedSecrets,
  trustedFirst,
  certificateIsTrusted,
  trustKept,
  membersTrustEachOther,
  authorityKept,
  authIsAsked,
  administratorFirst,
  loginStays,
  ownOnly,
];
