import { ROTATE_CA_ANNOTATION } from "#api/names.ts";
import type { Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

// How does one ask for another authority, and later for yet another one?
//   kubectl annotate etcdcluster my-etcd etcd.improbable.io/rotate-ca=all
//   What was carried out stays on record, so the same words ask for nothing more. Others do, such as all-2 or all-2027-01-31: what stands behind the
//   dash is anybody's.

const ASKED: Readonly<Record<string, readonly Side[]>> = {
  peer: ["peer"],
  client: ["client"],
  all: ["peer", "client"],
};

/** What a wish may be, for people. */
export const ROTATION_WISHES = "peer, client or all; to ask again, with something behind it, such as all-2";

/** Whose authorities the words ask for; none when they are no such wish. */
export function sidesAsked(words: string): readonly Side[] {
  const [what = "", ...again] = words.split("-");
  if (again.length > 0 && again.join("-") === "") return [];
  return Object.hasOwn(ASKED, what) ? (ASKED[what] ?? []) : [];
}

/** The words that ask for another authority of this side, whether or not it was made by now. */
export function rotationWish({ metadata }: Pick<EtcdCluster, "metadata">, side: Side): string | undefined {
  const words = metadata.annotations?.[ROTATE_CA_ANNOTATION];
  return words !== undefined && sidesAsked(words).includes(side) ? words : undefined;
}
