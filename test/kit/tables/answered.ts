import { OperatorError } from "#base/error.ts";
import type { Observed } from "#base/observed.ts";

/** Answers like the API server does for a `get`: the object, not found, or unavailable. */
export function answered<T>(found: Observed<T>): Promise<T> {
  if (found.is === "present") return Promise.resolve(found.value);
  return Promise.reject(
    found.is === "absent"
      ? new OperatorError("KubeNotFound", "not found")
      : new OperatorError("KubeUnavailable", found.why),
  );
}
