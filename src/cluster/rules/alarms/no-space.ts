import { fullMembers } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark } from "#runtime/decide.ts";

/** A database has reached its quota, and etcd refuses every write until a person has made room. People are told; all else goes on. */
export const noSpace: ClusterRule = {
  name: "no-space",
  decide(snapshot) {
    const full = fullMembers(snapshot);
    if (full.length === 0) return undefined;
    return remark("no-space", noSpaceText(full));
  },
};

/** @param ids of the members, in hexadecimal */
export function noSpaceText(ids: readonly string[]): string {
  const members = ids.length === 1 ? `member ${ids[0]}` : `members ${ids.join(", ")}`;
  return `the alarm NOSPACE is raised for ${members}: etcd refuses every write until its database is smaller than its quota; compact and defragment, then etcdctl alarm disarm`;
}
