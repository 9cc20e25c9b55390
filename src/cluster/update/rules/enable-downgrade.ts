import { recheckMs } from "#base/recheck.ts";
import { joiningName } from "#cluster/members/learners.ts";
import { ownVoters } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { enabledDowngrade, whyNotConverted } from "#cluster/update/downgrade.ts";
import { podTrouble, restartBlocker } from "#cluster/update/fitness.ts";
import { mayBeFixedByRestart } from "#cluster/update/pending-restart.ts";
import { unconvertedVoter } from "#cluster/update/raft-entries.ts";
import { askedDowngrade, isSpoken } from "#cluster/update/version-path.ts";
import { stoppedUpdate, wantedRevision, whyRefused } from "#cluster/update/wanted-template.ts";
import { isSameMinor, minorOf } from "#etcd/version.ts";
import { step, type Waiting, wait } from "#runtime/decide.ts";

/** Recheck interval for a learner that was added by hand, in milliseconds: no event reports its promotion. */
const JOINED_RECHECK_MS = 10_000;

/**
 * Recheck intervals for the conversion of data, which no event reports. etcd checks every few seconds whether it has
 * data to convert.
 */
const PATIENCE = { firstMs: 500, maxMs: 10_000 };

/**
 * Enables etcd's own downgrade when the spec asks for the previous minor and every member is healthy. Members restart
 * only after all data has been converted.
 */
export const enableDowngrade: ClusterRule = {
  name: "enable-downgrade",
  decide(snapshot) {
    const version = askedDowngrade(snapshot);
    if (version === undefined || isSpoken(snapshot, version)) return undefined;
    if (stoppedUpdate(snapshot) !== undefined || whyRefused(snapshot).length > 0) return undefined;
    const to = minorOf(version);
    const incomplete = untilWhole(snapshot, `the downgrade to etcd ${to} begins`);
    if (incomplete !== undefined) return incomplete;
    const enabled = enabledDowngrade(snapshot);
    // Data that is already in the older format would look converted, and its raft log would look free of old entries.
    const unconverted = unconvertedVoter(snapshot);
    if (enabled === undefined && unconverted !== undefined) {
      const because = `the downgrade to etcd ${to} begins when the data of ${unconverted.name} is in the format of the release that it runs`;
      return untilConverted(snapshot, because);
    }
    if (enabled === undefined)
      return step(`members can go back to etcd ${to} once etcd's own downgrade is enabled`, {
        do: "enableDowngrade",
        to,
      });
    if (!isSameMinor(enabled.to, version)) return undefined; // cancel-downgrade comes first
    const why = ownVoters(snapshot).flatMap((member) => whyNotConverted(member, version) ?? []);
    const because = `members go back to etcd ${to} when their data has been converted: ${why[0]}`;
    if (why.length === 0) return undefined;
    return untilConverted(snapshot, because);
  },
};

/**
 * The wait until every member is present: etcd converts no data while a member is away, and lets none join later.
 * `undefined` when all are present.
 * @param what happens then, as the beginning of a sentence
 */
export function untilWhole(snapshot: ClusterSnapshot, what: string): Waiting | undefined {
  const joining = joiningName(snapshot);
  if (joining !== undefined) {
    const warn = askedForMs(snapshot) >= snapshot.memberTimeoutMs;
    return wait(`${what} once ${joining} has its vote`, JOINED_RECHECK_MS, { warn });
  }
  // A member that an update may fix participates in the quorum, and its data is converted like that of the others.
  const unfit = ownVoters(snapshot).find((member) => member.lacks.length > 0 && !mayBeFixedByRestart(snapshot, member));
  if (unfit === undefined) return undefined;
  const unfitMs = unfit.history.unfitForMs;
  const because = `${what} once ${unfit.name} ${restartBlocker(unfit)}${podTrouble(snapshot, unfit.name)}`;
  return wait(because, recheckMs(unfitMs, PATIENCE), { warn: unfitMs >= snapshot.memberTimeoutMs });
}

/** The wait until members have converted their data. It warns after the member timeout. */
export function untilConverted(snapshot: ClusterSnapshot, because: string): Waiting {
  const askedMs = askedForMs(snapshot);
  return wait(because, recheckMs(askedMs, PATIENCE), { warn: askedMs >= snapshot.memberTimeoutMs });
}

/**
 * How long ago the recorded update began, in milliseconds. The absolute value guards against a wall clock that is far
 * behind.
 */
function askedForMs(snapshot: ClusterSnapshot): number {
  const { cluster, takenAtMs } = snapshot;
  const update = cluster.status?.update;
  const sinceMs = update?.revision === wantedRevision(snapshot) ? Date.parse(update.startTime) : takenAtMs;
  return Math.abs(takenAtMs - sinceMs);
}
