import { type Claim, whyTaken } from "#access/claim.ts";
import { hindranceOf } from "#access/place.ts";
import type { Observed } from "#base/observed.ts";
import { type Waiting, wait } from "#runtime/decide.ts";

// Waits that the rules of EtcdRole and EtcdUser share. Functions return undefined when there is nothing to wait for.

/** Interval of rechecks in milliseconds, in case an event is lost: a change of the EtcdCluster triggers the controller. */
const AWAIT_CLUSTER_RECHECK_MS = 60_000;

/** Waits while the EtcdCluster is not available for changes. */
export function awaitingCluster({ object, cluster }: Pick<Claim, "object" | "cluster">): Waiting | undefined {
  const hindrance = hindranceOf(object.spec.clusterRef.name, cluster);
  return hindrance && wait(hindrance.because, AWAIT_CLUSTER_RECHECK_MS);
}

/** Interval of rechecks in milliseconds. They may be frequent: calls.ts backs off from a cluster that does not answer. */
const AWAIT_ETCD_RECHECK_MS = 10_000;

/** Waits while one of etcd's answers is missing. */
export function awaitingEtcd(...answers: readonly Observed<unknown>[]): Waiting | undefined {
  const [why] = answers.flatMap((answer) => (answer.is === "unknown" ? [answer.why] : []));
  return why === undefined
    ? undefined
    : wait(`etcd's users and roles could not be read: ${why}`, AWAIT_ETCD_RECHECK_MS);
}

/** Interval of rechecks in milliseconds: the deletion of the object with the name does not trigger the controller. */
const NAME_TAKEN_RECHECK_MS = 60_000;

/** Waits while an older object owns the name in etcd. */
export function awaitingName(claim: Claim): Waiting | undefined {
  const because = whyTaken(claim);
  return because === undefined ? undefined : wait(because, NAME_TAKEN_RECHECK_MS, { warn: true });
}
