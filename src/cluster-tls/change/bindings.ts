import { providerOf } from "#api/tls.ts";
import type { ClusterSnapshot, SeenBinding } from "#cluster/snapshot.ts";

// For which applications does a CA rotation wait?
//   For those that use the cluster's client Secret and those with the binding of an EtcdUser. The user controller
//   writes the binding and reports its content in the EtcdUser's status. A binding with an expired certificate is
//   ignored: it cannot connect anyway.
// For how long?
//   Until the binding lists the new CA, and has done so for as long as an application takes to reread it. A message
//   names each binding that holds up the rotation. A CA with a leaked key stays trusted for as long. To cut it short,
//   delete the EtcdUser. Shortly before the CA expires the rotation no longer waits for late bindings: the expiry would
//   cut off every client.
// Why does it not wait for every new binding?
//   Where EtcdUsers come and go all the time, some binding would always be new. A binding that was created with the new
//   CA has nothing to reload.

/** Reason of an EtcdUser with a refused spec: its binding still gets the CA bundle, but no certificate. */
const GETS_NO_PAIR = "SpecRefused";

/** Action for bindings that a user fills: the operator cannot see which certificate an application uses. */
const TAKEN_OUT = "lose tls.crt and tls.key, which the previous CA signed: remove them once no application uses them";

/**
 * Largest assumed clock difference between operator and API server, in milliseconds. Larger: more new bindings are
 * waited for without need. Smaller: a binding that predates the new CA may be skipped.
 */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Bindings that do not list these CAs, or not yet for long enough, as a clause. `undefined` when all do.
 * @param sinceMs since when every new binding is created with these CAs, in milliseconds since 1970
 * @param isEnding whether bindings without these CAs are no longer waited for
 */
export function whyBindingsLackCa(
  snapshot: ClusterSnapshot,
  ids: readonly string[],
  sinceMs: number,
  isEnding = false,
): string | undefined {
  const hasNewCa = ({ trustIds }: SeenBinding) => ids.every((id) => trustIds?.includes(id));
  // A binding with an empty bundle connects without TLS.
  const isConcerned = (binding: SeenBinding) => binding.trustIds?.length !== 0 && (!isEnding || hasNewCa(binding));
  return whyLate(
    snapshot,
    isConcerned,
    hasNewCa,
    sinceMs,
    `list the new CA in ca.crt for ${snapshot.rereadWithinMs / 1_000} s`,
  );
}

/**
 * Bindings with a certificate of a previous CA, or that had one a short while ago, as a clause. `undefined` when there
 * are none.
 * @param sinceMs since when every new binding gets a certificate of the current CA, in milliseconds since 1970
 */
export function whyBindingsUsePreviousCa(
  snapshot: ClusterSnapshot,
  isAccepted: (signerId: string) => boolean,
  sinceMs: number,
): string | undefined {
  const isUserProvided = providerOf(snapshot.cluster.spec, "client") === "Secret";
  const isConcerned = ({ trustIds, signerId, reason, notAfterMs = Number.POSITIVE_INFINITY }: SeenBinding) =>
    // A binding that gets no new certificate is waited for only where a user has to remove the old one.
    (isUserProvided || reason !== GETS_NO_PAIR) &&
    (trustIds === undefined || (signerId !== undefined && notAfterMs > snapshot.takenAtMs));
  const isNew = ({ signerId }: SeenBinding) => signerId !== undefined && isAccepted(signerId);
  const what = isUserProvided
    ? TAKEN_OUT
    : `have a certificate of the current CA for ${snapshot.rereadWithinMs / 1_000} s`;
  return whyLate(snapshot, isConcerned, isNew, sinceMs, what);
}

function whyLate(
  { certificates, rereadWithinMs }: ClusterSnapshot,
  isConcerned: (binding: SeenBinding) => boolean,
  is: (binding: SeenBinding) => boolean,
  sinceMs: number,
  what: string,
): string | undefined {
  const isKnown = ({ knownForMs, madeAtMs = Number.NEGATIVE_INFINITY }: SeenBinding) =>
    knownForMs >= rereadWithinMs || madeAtMs - sinceMs >= CLOCKS_DIFFER_MS;
  const late = (certificates?.bindings ?? []).filter(isConcerned).filter((each) => !is(each) || !isKnown(each));
  if (late.length === 0) return undefined;
  const names = late.map(({ user, secretName, reason }) => {
    const name = `Secret ${secretName} of EtcdUser ${user}`;
    return reason === undefined ? name : `${name} (${reason})`;
  });
  return `${names.join(", ")} ${late.length === 1 ? "has" : "have"} to ${what}`;
}
