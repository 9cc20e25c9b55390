import { BEYOND_V1ALPHA1_ANNOTATION } from "#api/names.ts";

// What does the annotation contain?
//   The fields of an object of v1alpha1 that only v1beta1 has, as JSON. Only conversions may write it. Older releases
//   did not check it, so it may contain anything. The conversion keeps an unusable value for users to inspect.
// What if the value is too large?
//   The API server limits the size of annotations. One object above the limit would make every list request fail.

type Json = Readonly<Record<string, unknown>>;

/**
 * Maximum size of all annotations of an object in bytes. The API server allows 256 KiB; the rest is left for
 * annotations added by users.
 */
const MAX_BYTES = 250 * 1024;

/** Replaces a value that is too large: the object in v1alpha1 is incomplete. */
export const TOO_LARGE = "too large for an annotation";

/**
 * Annotations of an object of v1alpha1.
 * @param others other annotations of the object @param beyond fields that only v1beta1 has; not empty
 */
export function withBeyond(others: Json, beyond: Json): Json {
  const written = { ...others, [BEYOND_V1ALPHA1_ANNOTATION]: JSON.stringify(beyond) };
  if (bytesOf(written) <= MAX_BYTES) return written;
  const marked = { [BEYOND_V1ALPHA1_ANNOTATION]: TOO_LARGE };
  const both = { ...others, ...marked };
  // Dropping the other annotations loses no data: validation refuses any write with this marker.
  return bytesOf(both) <= MAX_BYTES ? both : marked;
}

function bytesOf(annotations: Json): number {
  const texts = Object.entries(annotations).flat();
  return texts.reduce<number>((sum, text) => sum + (typeof text === "string" ? Buffer.byteLength(text) : 0), 0);
}
