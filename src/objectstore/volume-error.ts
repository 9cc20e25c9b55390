import type { StoreReason } from "./error.ts";
import type { Answer } from "./failure.ts";

const REASONS: Readonly<Record<string, StoreReason>> = {
  ENOSPC: "NoSpace",
  EDQUOT: "NoSpace",
  EFBIG: "NoSpace",
  EACCES: "AccessDenied",
  EPERM: "AccessDenied",
  EROFS: "AccessDenied",
  EEXIST: "ObjectExists",
  ENOENT: "NoSuchObject",
  ENOTDIR: "InvalidLocation",
  EISDIR: "InvalidLocation",
  ELOOP: "InvalidLocation",
  ENAMETOOLONG: "InvalidLocation",
  // The server of a network file system is unreachable.
  EIO: "Unreachable",
  ESTALE: "Unreachable",
  ETIMEDOUT: "Timeout",
};

/** Reason and text of a file system error. */
export function volumeAnswer(thrown: unknown): Answer | undefined {
  const reason = REASONS[codeOf(thrown)];
  return reason === undefined ? undefined : { reason, text: (thrown as Error).message };
}

/** Code of a failed system call, "" for other errors. Example: `ENOSPC` */
export function codeOf(thrown: unknown): string {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : "";
  return typeof code === "string" ? code : "";
}
