import type { FailureReason } from "./report.ts";

/** Why the task cannot be done. Everything foreign is translated into it once, at the border, and kept as `cause`, which is shown to nobody. */
export class AgentError extends Error {
  override readonly name = "AgentError";
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.reason = reason;
  }
}
