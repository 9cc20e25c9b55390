import { recheckMs } from "#base/recheck.ts";
import { enabledDowngrade, whyNotConverted } from "#cluster/downgrade.ts";
import { whyUnfit } from "#cluster/fitness.ts";
import { arriving } from "#cluster/learners.ts";
import { intendedPeers, type KnownMember, ownVoters } from "#cluster/members.ts";
import { unfitForMs } from "#cluster/patience.ts";
import { isMendedByTurn, stoppedUpdate, wantedRevision, whyRefused } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { askedDowngrade, isSpoken } from "#cluster/version-path.ts";
import { isSameMinor, minorOf } from "#etcd/version.ts";
import { step, type Wait, wait } from "#runtime/decide.ts";

/** Of a learner that somebody else has added no event tells. In milliseconds. */
const JOINED_RECHECK_MS = 10_000;

/** Nor of data that is converted: etcd looks every few seconds whether there is some. */
const PATIENCE = { firstMs: 500, maxMs: 10_000 };

/** etcd is asked to go back to the minor before, when the spec asks for that and every member is there; then nobody restarts until all data has been converted. */
export const enableDowngrade: ClusterRule = {
  name: "enable-downgrade",
  decide(snapshot) {
    const version = askedDowngrade(snapshot);
    if (version === undefined || isSpoken(snapshot, version)) return undefined;
    if (stoppedUpdate(snapshot) !== undefined || whyRefused(snapshot).length > 0) return undefined;
    const to = minorOf(version);
    // Nothing is converted while somebody is away, and who comes later is not let in.
    const joining = arriving(snapshot)[0]?.name ?? intendedPeers(snapshot)[0]?.metadata.name;
    if (joining !== undefined)
      return wait(
        "enable-downgrade",
        `the cluster goes back to etcd ${to} once ${joining} has its vote`,
        JOINED_RECHECK_MS,
      );
    const enabled = enabledDowngrade(snapshot);
    // Whoever is to be mended by its turn does its part, and its data is converted like that of all others.
    const unfit = ownVoters(snapshot).find(
      (member) => whyUnfit(snapshot, member) !== undefined && !isMendedByTurn(snapshot, member),
    );
    if (unfit !== undefined) return untilFit(snapshot, unfit, to);
    if (enabled === undefined)
      return step("enable-downgrade", `members can go back to etcd ${to} once etcd itself does`, {
        do: "enableDowngrade",
        to,
      });
    if (!isSameMinor(enabled.to, version)) return undefined; // that one is cancelled first
    const why = ownVoters(snapshot).flatMap((member) => whyNotConverted(snapshot, member, version) ?? []);
    const because = `members go back to etcd ${to} when their data has been converted: ${why[0]}`;
    if (why.length === 0) return undefined;
    const askedMs = askedForMs(snapshot);
    return wait("enable-downgrade", because, recheckMs(askedMs, PATIENCE), {
      warn: askedMs >= snapshot.memberTimeoutMs,
    });
  },
};

/** For how long what is wanted has been asked for, by the record, in milliseconds. A clock that is far behind would have it wait for ever. */
function askedForMs(snapshot: ClusterSnapshot): number {
  const { cluster, takenAtMs } = snapshot;
  const update = cluster.status?.update;
  const sinceMs = update?.revision === wantedRevision(snapshot) ? Date.parse(update.since) : takenAtMs;
  return Math.abs(takenAtMs - sinceMs);
}

function untilFit(snapshot: ClusterSnapshot, unfit: KnownMember, to: string): Wait {
  const because = `the cluster goes back to etcd ${to} once ${unfit.name} ${whyUnfit(snapshot, unfit)}`;
  const unfitMs = unfitForMs(snapshot, unfit);
  return wait("enable-downgrade", because, recheckMs(unfitMs, PATIENCE), { warn: unfitMs >= snapshot.memberTimeoutMs });
}
