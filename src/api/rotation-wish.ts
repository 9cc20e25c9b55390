import { ROTATE_CA_ANNOTATION } from "#api/names.ts";
import type { Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

// How can a user request a CA rotation, and later a second one?
//   kubectl annotate etcdcluster my-etcd etcd.improbable.io/rotate-ca=all
//   A completed request stays on record, so the same value requests nothing more. A different value does, such as all-2
//   or all-2027-01-31. Any text may follow the dash.

const ASKED: Readonly<Record<string, readonly Side[]>> = {
  peer: ["peer"],
  client: ["client"],
  all: ["peer", "client"],
};

/** Valid values of the annotation, for messages. */
export const ROTATION_WISHES =
  "peer, client or all; to ask again, with something behind it, such as all-2, and 63 characters at most";

/**
 * Longest value in characters. It is copied to an annotation of the CA's Secret, where a value of the API server's
 * limit would not fit.
 */
const MAX_LENGTH = 63;

/** Sides for which the value requests a CA rotation; none when the value is invalid. */
export function sidesAsked(words: string): readonly Side[] {
  if (words.length > MAX_LENGTH) return [];
  const [what = "", ...again] = words.split("-");
  if (again.length > 0 && again.join("-") === "") return [];
  return Object.hasOwn(ASKED, what) ? (ASKED[what] ?? []) : [];
}

/** Value that requests a CA rotation for this side, whether or not it is complete. */
export function rotationWish({ metadata }: Pick<EtcdCluster, "metadata">, side: Side): string | undefined {
  const words = metadata.annotations?.[ROTATE_CA_ANNOTATION];
  return words !== undefined && sidesAsked(words).includes(side) ? words : undefined;
}
