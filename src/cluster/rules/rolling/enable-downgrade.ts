import { recheckMs } from "#base/recheck.ts";
import { enabledDowngrade, whyNotConverted } from "#cluster/downgrade.ts";
import { whyUnfit } from "#cluster/fitness.ts";
import { arriving } from "#cluster/learners.ts";
import { type KnownMember, ownVoters } from "#cluster/members.ts";
import { unfitForMs } from "#cluster/patience.ts";
import { stoppedUpdate, whyRefused } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { askedDowngrade, isSpoken } from "#cluster/version-path.ts";
import { isSameMinor, minorOf } from "#etcd/version.ts";
import { step, type Wait, wait } from "#runtime/decide.ts";

/** etcd looks every few seconds whether there is something to convert, and tells nobody when it has. In milliseconds. */
const CONVERTED_RECHECK_MS = 500;

/** Of a learner that somebody else has added no event tells. In milliseconds. */
const JOINED_RECHECK_MS = 10_000;

const UNFIT = { firstMs: 500, maxMs: 10_000 };

/** etcd is asked to go back to the minor before, when the spec asks for that and every member is there; then nobody restarts until all data has been converted. */
export const enableDowngrade: ClusterRule = {
  name: "enable-downgrade",
  decide(snapshot) {
    const version = askedDowngrade(snapshot);
    if (version === undefined || isSpoken(snapshot, version)) return undefined;
    if (stoppedUpdate(snapshot) !== undefined || whyRefused(snapshot).length > 0) return undefined;
    const to = minorOf(version);
    // Nothing is converted while somebody is away, and who comes later is not let in.
    const [joining] = arriving(snapshot);
    if (joining !== undefined)
      return wait(
        "enable-downgrade",
        `the cluster goes back to etcd ${to} once ${joining.name} has its vote`,
        JOINED_RECHECK_MS,
      );
    const enabled = enabledDowngrade(snapshot);
    const unfit = ownVoters(snapshot).find((member) => whyUnfit(snapshot, member) !== undefined);
    if (unfit !== undefined) return untilFit(snapshot, unfit, to);
    if (enabled === undefined)
      return step("enable-downgrade", `members can go back to etcd ${to} once etcd itself does`, {
        do: "enableDowngrade",
        to,
      });
    if (!isSameMinor(enabled.to, version)) return undefined; // that one is cancelled first
    const why = ownVoters(snapshot).flatMap((member) => whyNotConverted(snapshot, member, version) ?? []);
    const because = `members go back to etcd ${to} when their data has been converted: ${why[0]}`;
    return why.length === 0 ? undefined : wait("enable-downgrade", because, CONVERTED_RECHECK_MS);
  },
};

function untilFit(snapshot: ClusterSnapshot, unfit: KnownMember, to: string): Wait {
  const because = `the cluster goes back to etcd ${to} once ${unfit.name} ${whyUnfit(snapshot, unfit)}`;
  const unfitMs = unfitForMs(snapshot, unfit);
  return wait("enable-downgrade", because, recheckMs(unfitMs, UNFIT), { warn: unfitMs >= snapshot.memberTimeoutMs });
}
