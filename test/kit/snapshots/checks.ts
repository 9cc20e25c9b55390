import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { type MemberMetrics, metricsText } from "#kit/snapshots/member-metrics.ts";
import { seenCluster } from "#kit/snapshots/pictures.ts";
import { itemsAt, textAt } from "../../../src/plugin/fields.ts";
import type { Checked, CheckedMember, Unread } from "../../../src/plugin/findings.ts";
import { readingOf, speedOf } from "../../../src/plugin/reading.ts";

/** What a member adds within the window, or why it could not be read. */
export type Within = Partial<Omit<MemberMetrics, "id" | "trips">> & {
  /** Milliseconds of the bucket to each other member; by default 0.4. */
  readonly tripMs?: number;
  readonly unread?: Unread;
  /** Whether all of it happened before the window. */
  readonly isQuiet?: boolean;
};

const DAY_MS = 24 * 3_600_000;
const FAST = { sync: { 2: 990, 4: 10 }, commit: { 8: 980, 16: 20 } };

/** What `check` has read of the snapshot's cluster. @param within by the number of the member; others are fast */
export function checkedOf(snapshot: ClusterSnapshot, within: Readonly<Record<number, Within>> = {}): Checked {
  const cluster = seenCluster(snapshot);
  const members = itemsAt(cluster, "status", "members");
  const ids = members.map((each) => textAt(each, "id"));
  const checked = members.map((member, n): CheckedMember => {
    const { tripMs = 0.4, unread, isQuiet = false, startMs = NOW - 12 * DAY_MS, ...added } = within[n] ?? {};
    const id = ids[n] ?? "";
    const trips = (observed: MemberMetrics["sync"]) =>
      Object.fromEntries(ids.filter((each) => each !== id).map((each) => [each, observed]));
    const counters = { leaderChanges: 3, failedProposals: 1, slowApplies: 0 };
    const first = { id, startMs, sync: {}, commit: {}, trips: trips({}), ...counters };
    const last = {
      ...first,
      ...FAST,
      ...added,
      trips: trips({ [tripMs]: 1 }),
      leaderChanges: 3 + (added.leaderChanges ?? 0),
      failedProposals: 1 + (added.failedProposals ?? 0),
      slowApplies: added.slowApplies ?? 0,
    };
    const speed = speedOf(readingOf(metricsText(isQuiet ? last : first)), readingOf(metricsText(last)));
    const [name, role] = [textAt(member, "name"), textAt(member, "role")];
    return { name, id, role, node: "", found: unread === undefined ? { speed } : { unread } };
  });
  return { nowMs: NOW, cluster, seconds: 10, members: checked, left: 0 };
}
