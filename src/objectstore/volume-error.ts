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
  // A network file system whose server is away.
  EIO: "Unreachable",
  ESTALE: "Unreachable",
  ETIMEDOUT: "Timeout",
};

/** What the file system answered. */
export function volumeAnswer(thrown: unknown): Answer | undefined {
  const reason = REASONS[codeOf(thrown)];
  return reason === undefined ? undefined : { reason, text: (thrown as Error).message };
}

/** Node's code of a failed system call, "" for all else. Example: `ENOSPC` */
export function codeOf(thrown: unknown): string {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : "";
  return typeof code === "string" ? code : "";
}
