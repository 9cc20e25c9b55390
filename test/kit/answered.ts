import { OperatorError } from "#base/error.ts";
import type { Observed } from "#base/observed.ts";

/** As the API server answers a `get`: an object, that there is none, or no answer at all. */
export function answered<T>(found: Observed<T>): Promise<T> {
  if (found.is === "present") return Promise.resolve(found.value);
  return Promise.reject(
    found.is === "absent"
      ? new OperatorError("KubeNotFound", "not found")
      : new OperatorError("KubeUnavailable", found.why),
  );
}
