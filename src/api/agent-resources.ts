/**
 * Compute resources of the agent's containers without `podTemplate.spec.resources`. 200m CPU transfers some hundred
 * MB/s. The agent needs less than 150 MB at any database size.
 */
export const DEFAULT_AGENT_RESOURCES = {
  requests: { cpu: "200m", memory: "160Mi" },
  limits: { memory: "256Mi" },
};
