import { providerOf } from "#api/tls.ts";
import type { ClusterSnapshot, SeenBinding } from "#cluster/snapshot.ts";

// Which applications are waited for when an authority is followed by another one?
//   Those that have the cluster's client Secret, and those that have the binding of an EtcdUser. The room of users writes it, and its status says
//   what is in it. A certificate that has ended cuts off nobody any more.
// For how long?
//   Until the binding says it, and has said it for as long as an application takes to read it again. What refuses the write is told meanwhile. An
//   authority whose key is known to somebody is believed for as long: who cannot wait takes the EtcdUser away, or pays with its application. At
//   the end of the authority that signs all would be cut off, so before it nobody is waited for who has not heard of the next one.
// Why is not everybody waited for as soon as they appear?
//   Where EtcdUsers come and go all the time some binding would always be new. One that never said anything else has nothing to come over from.

/** An EtcdUser that cannot be carried out: its binding goes on to say whom to trust, and gets nothing else. */
const GETS_NO_PAIR = "SpecRefused";

/** Nobody here knows what an application shows that somebody else has made. */
const TAKEN_OUT =
  "lose tls.crt and tls.key, which a former authority has signed: take them out once no application shows them";

/** What clocks of the operator and of the API server may differ by, in milliseconds. Who is made in between is waited for like everybody. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Whose binding does not tell yet, or not for long enough, whom to trust besides, as a clause; `undefined` when all do.
 * @param sinceMs since when whoever gets a binding is told so from the first, in milliseconds since 1970
 * @param isEnding whether who has not been told by now is waited for no more
 */
export function whyBindingUntold(
  snapshot: ClusterSnapshot,
  ids: readonly string[],
  sinceMs: number,
  isEnding = false,
): string | undefined {
  const isTold = ({ trustIds }: SeenBinding) => ids.every((id) => trustIds?.includes(id));
  // Whose binding names nobody to be trusted connects without TLS.
  const isConcerned = (binding: SeenBinding) => binding.trustIds?.length !== 0 && (!isEnding || isTold(binding));
  return whyLate(snapshot, isConcerned, isTold, sinceMs, `say whom clients are to trust besides ${forLong(snapshot)}`);
}

/**
 * Whose binding still has a certificate of a former authority, or had it just now, as a clause; `undefined` when none has.
 * @param sinceMs since when whoever gets a binding gets one of the authority that signs by now, in milliseconds since 1970
 */
export function whyBindingFormer(
  snapshot: ClusterSnapshot,
  isBelieved: (signerId: string) => boolean,
  sinceMs: number,
): string | undefined {
  const isBrought = providerOf(snapshot.cluster.spec, "client") === "Secret";
  const isConcerned = ({ trustIds, signerId, reason, notAfterMs = Number.POSITIVE_INFINITY }: SeenBinding) =>
    // Who gets no other one is waited for only where people are to take out the one that is there.
    (isBrought || reason !== GETS_NO_PAIR) &&
    (trustIds === undefined || (signerId !== undefined && notAfterMs > snapshot.takenAtMs));
  const isNew = ({ signerId }: SeenBinding) => signerId !== undefined && isBelieved(signerId);
  const what = isBrought ? TAKEN_OUT : `have a certificate of the authority that signs by now ${forLong(snapshot)}`;
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
  const told = late.map(({ user, secretName, reason }) => {
    const name = `Secret ${secretName} of EtcdUser ${user}`;
    return reason === undefined ? name : `${name} (${reason})`;
  });
  return `${told.join(", ")} ${late.length === 1 ? "has" : "have"} to ${what}`;
}

function forLong({ rereadWithinMs }: ClusterSnapshot): string {
  return `for ${rereadWithinMs / 1_000} s`;
}
