import { ETCD_CONTAINER } from "#api/names.ts";
import { itemsOf, mapIn, type Part, type Reserved, valueText, whyNotFields } from "#api/pod-template/reserved-field.ts";

// How does a member end?
//   The kubelet runs the hook preStop, then sends a signal, and when the grace period is over it kills: it counts from the beginning of the
//   hook. What a hook that is a command takes nobody knows before; a pause that a hook is says so. What the operator itself has etcd do before
//   it ends is a default for who says nothing (src/peer/desired/ending.ts).

/**
 * On shutdown etcd hands its leadership over, which takes seven seconds at most with its default election timeout (ReqTimeout in
 * server/config/config.go of etcd), and then closes its files. Killed before, it leaves the others to find out.
 */
export const MIN_GRACE_SECONDS = 10;
/** The operator's as well as Kubernetes' own, where nobody says it. */
const DEFAULT_GRACE_SECONDS = 30;
const HANDS_OVER = "etcd takes up to 7 seconds to hand its leadership over before it ends";

/** https://github.com/etcd-io/etcd/blob/main/pkg/osutil/interrupt_unix.go */
const SIGNALS: Readonly<Record<string, Reserved>> = {
  stopSignal: {
    may: [null, "SIGTERM", "SIGINT"],
    because: "at any other one etcd ends without handing its leadership over",
  },
};

/** What leaves etcd no time, or no signal, to end as it should. */
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
