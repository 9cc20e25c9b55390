import type { FailureReason } from "./report.ts";

/**
 * Why a task failed. Foreign errors are translated once, at the boundary, and kept as `cause`, which is never shown.
 */
export class AgentError extends Error {
  override readonly name = "AgentError";
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.reason = reason;
  }
}
