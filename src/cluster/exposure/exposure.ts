import { serviceDiffers } from "#cluster/exposure/desired/services.ts";
import { takenText } from "#cluster/owned.ts";
import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import type { Draft, Service } from "#kube/kinds.ts";
import { notice, type Opinion, step } from "#runtime/decide.ts";

/** The step that creates or corrects the Service. One with another owner is left alone and reported. */
export function keepService(
  snapshot: ClusterSnapshot,
  { live, wanted, because }: { live: Service | undefined; wanted: Draft<Service>; because: string },
): Opinion<ClusterStep> | undefined {
  const { name } = wanted.metadata;
  if (live === undefined) return step(`Service ${name} ${because}`, { do: "createService", service: wanted });
  if (!isOwned(snapshot, live)) return notice(takenText(live));
  if (!serviceDiffers(live, wanted)) return undefined;
  return step(`Service ${name} differs from what is wanted`, { do: "replaceService", live, service: wanted });
}
