import { recheckMs } from "#base/recheck.ts";
import { isHealthy, type KnownMember, knownMembers, sick } from "#cluster/members.ts";
import { keptText, sickForMs, silentForMs } from "#cluster/patience.ts";
import { joinRecheckMs } from "#cluster/rules/forming/await-members.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

const DOWN = { firstMs: 1_000, maxMs: 10_000 };
/** Silence for longer than this, in milliseconds, is warned of: four times what etcd needs at the worst, as far as we know. */
const LATE_AFTER_MS = 30_000;

/**
 * A member is down while the others carry on. Its pod is made again by its ReplicaSet, so there is nothing to do but to wait. The
 * same is true of a member that takes part and does not serve clients yet.
 */
export const awaitHealth: ClusterRule = {
  name: "await-health",
  decide(snapshot) {
    const down = sick(snapshot);
    if (down.length > 0) {
      const names = down.map(({ name }) => name).join(", ");
      const because = `waiting for ${names} to be healthy again${keptText(snapshot, down)}`;
      return wait("await-health", because, Math.min(...down.map((member) => soonMs(snapshot, member))));
    }
    const late = knownMembers(snapshot).filter((member) => member.isOurs && !isHealthy(snapshot, member));
    if (late.length === 0) return undefined;
    const silentMs = Math.min(...late.map((member) => silentForMs(snapshot, member)));
    const warn = late.some((member) => silentForMs(snapshot, member) > LATE_AFTER_MS);
    const names = late.map(({ name }) => name).join(", ");
    return wait("await-health", `waiting for ${names} to serve clients`, recheckMs(silentMs, DOWN), { warn });
  },
};

/** A first member that is only a moment behind the others is looked for as often as they were. */
function soonMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  const founder = identityOf(snapshot)?.initialMembers.find(({ id }) => id === member.id);
  const later = recheckMs(sickForMs(snapshot, member), DOWN);
  return founder?.joined === false ? Math.min(later, joinRecheckMs(snapshot, [member.name])) : later;
}
