/** A sentence about the alarm NOSPACE. @param ids of the members that raised it, in hexadecimal */
export function noSpaceText(ids: readonly string[]): string {
  const members = ids.length === 1 ? `member ${ids[0]}` : `members ${ids.join(", ")}`;
  return `the alarm NOSPACE is raised for ${members}: etcd refuses every write until its database is smaller than its quota; compact and defragment. Then run etcdctl alarm disarm`;
}
