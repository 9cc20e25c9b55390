import { ETCD_CONTAINER } from "#api/names.ts";
import { itemsOf, mapIn, type Part, type Reserved, valueText, whyNotFields } from "#api/pod-template/reserved-field.ts";

// How does a member's pod terminate?
//   The kubelet runs the preStop hook, then sends the stop signal, and kills at the end of the grace period. The grace
//   period includes the hook. The duration of a command hook is unknown; a sleep hook states it. The operator's own
//   preStop hook is only a default (src/peer/desired/ending.ts).

/**
 * Shortest grace period in seconds. On shutdown, etcd first transfers its leadership, for at most seven seconds with the
 * default election timeout (ReqTimeout in server/config/config.go). If etcd is killed earlier, the other members wait
 * for such a timeout.
 */
export const MIN_GRACE_SECONDS = 10;
/** Default grace period in seconds, both the operator's and Kubernetes'. */
const DEFAULT_GRACE_SECONDS = 30;
const HANDS_OVER = "etcd needs up to 7 seconds to transfer its leadership";

/** Signals that etcd handles: https://github.com/etcd-io/etcd/blob/main/pkg/osutil/interrupt_unix.go */
const SIGNALS: Readonly<Record<string, Reserved>> = {
  stopSignal: {
    may: [null, "SIGTERM", "SIGINT"],
    because: "at any other signal etcd ends without a transfer of its leadership",
  },
};

/** Settings that prevent a graceful shutdown of etcd, as messages. */
export function whyNotEnding(spec: Part): readonly string[] {
  const { terminationGracePeriodSeconds: seconds } = spec.value;
  const hooks = itemsOf(spec, "containers")
    .filter(({ value }) => value.name === ETCD_CONTAINER)
    .map((etcd) => mapIn(etcd, "lifecycle"));
  return [
    ...whyNotGrace(seconds, spec.field),
    ...hooks.flatMap((lifecycle) => [
      ...whyNotFields(lifecycle, SIGNALS),
      ...whyNotPause(mapIn(mapIn(lifecycle, "preStop"), "sleep"), typeof seconds === "number" ? seconds : undefined),
    ]),
  ];
}

function whyNotGrace(seconds: unknown, field: string): readonly string[] {
  if (typeof seconds !== "number" || seconds >= MIN_GRACE_SECONDS) return [];
  return [
    `${field}.terminationGracePeriodSeconds is ${seconds}; it must be ${MIN_GRACE_SECONDS} or more: ${HANDS_OVER}`,
  ];
}

function whyNotPause({ value: { seconds }, field }: Part, grace = DEFAULT_GRACE_SECONDS): readonly string[] {
  const most = Math.max(grace - MIN_GRACE_SECONDS, 0);
  if (typeof seconds !== "number" || seconds <= most) return [];
  return [
    `${field}.seconds is ${valueText(seconds)}; it must be at most ${most}, ${MIN_GRACE_SECONDS} less than terminationGracePeriodSeconds: ${HANDS_OVER}`,
  ];
}
