/**
 * Size of a quorum.
 * @param voters voting members, learners excluded; 0 or more. Example: 1 → 1, 3 → 2, 4 → 3, 5 → 3
 */
export function quorumOf(voters: number): number {
  return Math.floor(voters / 2) + 1;
}
