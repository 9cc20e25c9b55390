import { recheckMs } from "#base/recheck.ts";
import { joinRecheckMs } from "#cluster/identity/rules/await-members.ts";
import { type KnownMember, knownMembers, sick } from "#cluster/members/members.ts";
import { neverReplacedText } from "#cluster/members/patience.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

const DOWN = { firstMs: 1_000, maxMs: 10_000 };
/** After this much silence there is a warning, in milliseconds: four times what etcd is known to need at worst. */
const LATE_AFTER_MS = 30_000;

/**
 * Waits for a member that is down while the others keep the quorum: its ReplicaSet recreates its pod. Also waits for
 * one that does not serve clients yet.
 */
export const awaitHealth: ClusterRule = {
  name: "await-health",
  decide(snapshot) {
    const down = sick(snapshot);
    if (down.length > 0) {
      const names = down.map(({ name }) => name).join(", ");
      const because = `waiting for ${names} to be healthy again${neverReplacedText(snapshot, down)}`;
      return wait(because, Math.min(...down.map((member) => soonMs(snapshot, member))));
    }
    const late = knownMembers(snapshot).filter((member) => member.isOurs && member.health.is !== "healthy");
    if (late.length === 0) return undefined;
    const silentMs = Math.min(...late.map((member) => member.history.silentForMs));
    const warn = late.some((member) => member.history.silentForMs > LATE_AFTER_MS);
    const names = late.map(({ name }) => name).join(", ");
    return wait(`waiting for ${names} to serve clients`, recheckMs(silentMs, DOWN), { warn });
  },
};

/** An initial member that joins slightly later is checked as often as the others were. */
function soonMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  const founder = identityOf(snapshot)?.initialMembers.find(({ id }) => id === member.id);
  const later = recheckMs(member.history.sickForMs, DOWN);
  return founder?.joined === false ? Math.min(later, joinRecheckMs(snapshot, [member.name])) : later;
}
