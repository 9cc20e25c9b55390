/**
 * How many voters must agree for the cluster to decide anything.
 * @param voters voting members, learners excluded; 0 or more. Example: 1 → 1, 3 → 2, 4 → 3, 5 → 3
 */
export function quorumOf(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

/** Members that may fail before writes stop. `voters` counts voting members, learners excluded. Example: 5 → 2, 4 → 1; 0 → 0. */
export function canLose(voters: number): number {
  return Math.max(0, voters - quorumOf(voters));
}

/** Whether the healthy voters among all voters can decide. Nobody can decide for a cluster without voters. */
export function hasQuorum(votes: { readonly voters: number; readonly healthy: number }): boolean {
  return votes.healthy >= quorumOf(votes.voters);
}
