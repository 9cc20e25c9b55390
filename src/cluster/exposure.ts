import { serviceDiffers } from "#cluster/desired/services.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import type { Draft, Service } from "#kube/kinds.ts";
import { type Opinion, remark, step } from "#runtime/decide.ts";

/** What is to be done so that the Service is there and is as wanted; one of another owner is told of and left alone. */
export function keepService(
  rule: string,
  snapshot: ClusterSnapshot,
  { live, wanted, because }: { live: Service | undefined; wanted: Draft<Service>; because: string },
): Opinion<ClusterStep> | undefined {
  const { name } = wanted.metadata;
  if (live === undefined) return step(rule, `Service ${name} ${because}`, { do: "createService", service: wanted });
  if (!isOwned(snapshot, live)) return remark(rule, takenText(live));
  if (!serviceDiffers(live, wanted)) return undefined;
  return step(rule, `Service ${name} differs from what is wanted`, { do: "replaceService", live, service: wanted });
}
