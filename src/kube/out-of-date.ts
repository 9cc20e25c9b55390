import { OperatorError } from "#base/error.ts";
import type { AnyResource } from "./kinds.ts";

interface SeenMetadata {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * What something was decided on is not what the API server has by now: a conflict, as if a precondition had said so. Who decides waits until the cache
 * shows another state, and the cache is told when it does not.
 * @param seen as the cache shows it
 * @param message says what is different
 */
export function outOfDate({ plural }: AnyResource, seen: SeenMetadata, message: string): OperatorError {
  const { namespace, name, uid, resourceVersion } = seen;
  const known = { plural, namespace, name, uid, resourceVersion };
  return new OperatorError("KubeConflict", told(message), { known });
}

/** The same of what no cache knows, or of more than one object. */
export function notSeenYet(message: string): OperatorError {
  return new OperatorError("KubeConflict", told(message));
}

function told(message: string): string {
  return `${message}; the cache does not show it yet`;
}
