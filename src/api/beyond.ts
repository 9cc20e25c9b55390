import { BEYOND_V1ALPHA1_ANNOTATION } from "#api/names.ts";
import { isMap } from "#base/json.ts";

// What is in the annotation?
//   What v1beta1 says of an object of v1alpha1 beyond what v1alpha1 can, as JSON. Conversions write it, and nobody else may; yet releases
//   that knew nothing of it took whatever was there. So it may be anything, and what is unusable is left where it is, for people to see.
// What if it does not fit? The API server takes so many bytes of annotations, and one object that has more would end every list.

type Json = Readonly<Record<string, unknown>>;

/** Annotations of one object, in bytes: the API server takes 256 KiB, and who writes v1alpha1 may have something to add. */
const MAX_BYTES = 250 * 1024;

/** Instead of what does not fit: what v1alpha1 shows of the object is not all of it. */
export const TOO_LARGE = "too large for an annotation";

/** What is in it. @returns undefined when it is no JSON object */
export function beyondIn(text: unknown): Json | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isMap(value) ? value : undefined;
  } catch {
    return undefined; // whoever asks tells so, where it can be told
  }
}

/** The annotations of an object of v1alpha1. @param others of the object @param beyond what v1alpha1 cannot say; not empty */
export function withBeyond(others: Json, beyond: Json): Json {
  const written = { ...others, [BEYOND_V1ALPHA1_ANNOTATION]: JSON.stringify(beyond) };
  if (bytesOf(written) <= MAX_BYTES) return written;
  const marked = { [BEYOND_V1ALPHA1_ANNOTATION]: TOO_LARGE };
  const both = { ...others, ...marked };
  // Nobody can write it as it is shown, so nothing is lost by what is not shown.
  return bytesOf(both) <= MAX_BYTES ? both : marked;
}

function bytesOf(annotations: Json): number {
  const texts = Object.entries(annotations).flat();
  return texts.reduce<number>((sum, text) => sum + (typeof text === "string" ? Buffer.byteLength(text) : 0), 0);
}
