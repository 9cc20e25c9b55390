import { editIn } from "#api/dry-run.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { PlanStatus } from "#api/v1beta1/cluster.ts";
import { forecast } from "#cluster/forecast/forecast.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { memberTimeoutMs, replaceAfterMs } from "#cluster/spec-times.ts";

/** Of the edit so much is repeated, in characters. */
const MAX_EDIT = 1_000;

/** What the edit in the annotation would cause; `undefined` when nobody asks. */
export function planStatus(snapshot: ClusterSnapshot): PlanStatus | undefined {
  const { cluster } = snapshot;
  const asked = editIn(cluster);
  if (asked === undefined || cluster.metadata.deletionTimestamp !== undefined) return undefined;
  const edit = (cluster.metadata.annotations?.[DRY_RUN_ANNOTATION] ?? "").slice(0, MAX_EDIT);
  if (asked.is === "refused")
    return { edit, outcome: "Refused", message: `metadata.annotations[${DRY_RUN_ANNOTATION}]: ${asked.why}` };
  const { spec } = asked;
  return {
    edit,
    ...forecast({
      ...snapshot,
      cluster: { ...cluster, spec },
      replaceAfterMs: replaceAfterMs(spec, snapshot.replaceAfterMs),
      memberTimeoutMs: memberTimeoutMs(spec, snapshot.memberTimeoutMs),
    }),
  };
}
