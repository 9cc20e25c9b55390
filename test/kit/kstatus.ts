interface Judged {
  readonly metadata: { readonly generation?: number };
  readonly status?:
    | {
        readonly observedGeneration?: number | undefined;
        readonly conditions?: readonly { readonly type: string; readonly status: string }[] | undefined;
      }
    | undefined;
}

/**
 * What Flux, Helm and other users of kstatus make of an object that is not being deleted: its generic algorithm
 * (https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/status/generic.go).
 */
export function kstatusOf({ metadata, status }: Judged): "Current" | "InProgress" | "Failed" {
  const { observedGeneration, conditions = [] } = status ?? {};
  if (observedGeneration !== undefined && observedGeneration !== metadata.generation) return "InProgress";
  if (conditions.some(({ type, status: is }) => type === "Stalled" && is === "True")) return "Failed";
  const ready = conditions.find(({ type }) => type === "Ready");
  return ready === undefined || ready.status === "True" ? "Current" : "InProgress";
}
