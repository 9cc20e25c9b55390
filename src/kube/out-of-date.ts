import { OperatorError } from "#base/error.ts";
import type { AnyResource } from "./kinds.ts";

interface SeenMetadata {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * Error for a decision made on a stale cache: a KubeConflict, as from a failed precondition. The caller retries when
 * the cache no longer shows `seen`. If that takes long, the stream of the cache is reopened.
 * @param seen metadata of the object in the cache
 * @param message states the difference
 */
export function outOfDate({ plural }: AnyResource, seen: SeenMetadata, message: string): OperatorError {
  const { namespace, name, uid, resourceVersion } = seen;
  const known = { plural, namespace, name, uid, resourceVersion };
  return new OperatorError("KubeConflict", staleText(message), { known });
}

/** Error for a stale cache that lacks the object, or when several objects differ. */
export function notSeenYet(message: string): OperatorError {
  return new OperatorError("KubeConflict", staleText(message));
}

function staleText(message: string): string {
  return `${message}; the cache does not show it yet`;
}
