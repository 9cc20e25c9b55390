import type { ProviderChange } from "#cluster-tls/change/provider-change.ts";

/** The round of a provider change, and whether members have done their part, such as "UseNew, members done". */
export function stageOf(change: ProviderChange | undefined): string {
  if (change === undefined) return "no change";
  return change.membersDone ? `${change.round}, members done` : change.round;
}
