import type { ClusterSnapshot, SeenBinding } from "#cluster/snapshot.ts";

// Which applications are waited for when an authority is followed by another one?
//   Those that have the cluster's client Secret, and those that have the binding of an EtcdUser. The room of users writes it when members trust who
//   signs, and its status says what is in it. How long is that waited for? As long as the application would be cut off: whatever refuses the
//   write, the former authority harms nobody meanwhile, and who waits for whom is said. A certificate that has ended cuts off nobody any more, and
//   in the last half year of an authority nobody is waited for who has not heard of the next one: at its end all would be cut off.

/** Whose binding does not tell yet, or not for long enough, whom to trust besides, as a clause; `undefined` when all do. */
export function whyBindingUntold(snapshot: ClusterSnapshot, ids: readonly string[]): string | undefined {
  // Whose binding names nobody to be trusted connects without TLS.
  const isConcerned = ({ trustIds }: SeenBinding) => trustIds === undefined || trustIds.length > 0;
  const isTold = ({ trustIds }: SeenBinding) => ids.every((id) => trustIds?.includes(id));
  return whyLate(snapshot, isConcerned, isTold, "say whom clients are to trust besides");
}

/** Whose binding still has a certificate of a former authority, or had it just now, as a clause; `undefined` when none has. */
export function whyBindingFormer(
  snapshot: ClusterSnapshot,
  isBelieved: (signerId: string) => boolean,
): string | undefined {
  const isConcerned = ({ trustIds, signerId, notAfterMs = Number.POSITIVE_INFINITY }: SeenBinding) =>
    trustIds === undefined || (signerId !== undefined && notAfterMs > snapshot.takenAtMs);
  const isNew = ({ signerId }: SeenBinding) => signerId !== undefined && isBelieved(signerId);
  return whyLate(snapshot, isConcerned, isNew, "have a certificate of the authority that signs by now");
}

function whyLate(
  { certificates, rereadWithinMs }: ClusterSnapshot,
  isConcerned: (binding: SeenBinding) => boolean,
  is: (binding: SeenBinding) => boolean,
  what: string,
): string | undefined {
  const late = (certificates?.bindings ?? [])
    .filter(isConcerned)
    .filter((each) => !is(each) || each.knownForMs < rereadWithinMs);
  if (late.length === 0) return undefined;
  const told = late.map(({ user, secretName, reason }) => {
    const name = `Secret ${secretName} of EtcdUser ${user}`;
    return reason === undefined ? name : `${name} (${reason})`;
  });
  return `${told.join(", ")} ${late.length === 1 ? "has" : "have"} to ${what} for ${rereadWithinMs / 1_000} s`;
}
