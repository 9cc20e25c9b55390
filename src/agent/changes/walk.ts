import { AgentError } from "../error.ts";
import { isStoreError } from "../store-error.ts";
import { changesKey, folderOf, namedBy } from "./layout.ts";
import type { DeleteLine, LeaseLine, PutLine } from "./line.ts";
import { type Base, originOf, quietUntil, thereOf, type WalkAccess } from "./origin.ts";
import { type Ends, linesOf } from "./read.ts";

/** An archived revision. */
export interface Archived {
  readonly revision: bigint;
  readonly atMs: number;
  /** The revision happened after this time. */
  readonly afterMs: number | undefined;
  readonly leases: readonly LeaseLine[];
  readonly changes: readonly (PutLine | DeleteLine)[];
}

/** End of the archive. */
export interface Reach {
  readonly revision: bigint;
  /** Nothing happened after `revision` until this time. */
  readonly untilMs: number;
}

/**
 * Yields every revision after the base, in order and without gaps, up to the archive's end; some that the base contains
 * may come first. A revision is verified once the next object begins or the walk ends.
 * @param isEnough called after each object: whether to stop
 * @throws AgentError ArchiveGap where changes were never archived, ArchiveCorrupt where archived ones are missing;
 * StoreError
 */
export async function* walk(base: Base, access: WalkAccess, isEnough: () => boolean): AsyncGenerator<Archived, Reach> {
  const listed = await list(base, access);
  let before: Ends | undefined;
  for (let first: bigint | undefined = listed.own ?? listed.start; first !== undefined; ) {
    const key = changesKey(listed.folder, first);
    const lines = linesOf(key, access);
    let ends: Ends;
    try {
      ends = yield* revisionsIn(lines);
    } catch (thrown) {
      if (!isStoreError(thrown, "NoSuchObject")) throw thrown;
      if (first === listed.own) {
        first = listed.start;
        continue;
      }
      if (first <= listed.lastFirst && listed.start === 0n && before?.opening.first === "0") throw tooOld(base, listed);
      if (first <= listed.lastFirst) {
        throw new AgentError("ArchiveCorrupt", `${key} is missing, although later objects exist`);
      }
      break;
    }
    check(ends, first, before, base);
    before = ends;
    if (isEnough()) break;
    first = BigInt(ends.closing.last) + 1n;
  }
  if (before === undefined) throw new AgentError("ArchiveCorrupt", "the archive has no objects any more");
  return { revision: BigInt(before.closing.last), untilMs: await quietUntil(before, listed.quiets, access) };
}

interface Listed {
  readonly folder: string;
  /**
   * First revision of the object that ends with the base's last revision, if it exists. It is optional, and may be
   * deleted for its age.
   */
  readonly own: bigint | undefined;
  /** First revision of the object that contains the changes right after the base. */
  readonly start: bigint;
  /** First revision of the last object. */
  readonly lastFirst: bigint;
  /** First revision of the oldest object with changes; undefined: there is none. */
  readonly oldest: bigint | undefined;
  readonly quiets: readonly string[];
}

async function list(base: Base, access: WalkAccess): Promise<Listed> {
  const { store, prefix, signal } = access;
  const number = await originOf(base, access);
  const folder = folderOf(prefix, { clusterID: base.clusterID, number });
  let start = -1n;
  let former = -1n;
  let lastFirst = -1n;
  let oldest: bigint | undefined;
  const quiets: string[] = [];
  for await (const { key } of store.list(`${folder}/`, { signal })) {
    const named = namedBy(prefix, key);
    if (named?.kind === "quiet") quiets.push(key);
    if (named?.kind !== "changes") continue;
    if (named.first <= base.revision + 1n && named.first > start) start = named.first;
    if (named.first <= base.revision && named.first > former) former = named.first;
    if (named.first > lastFirst) lastFirst = named.first;
    if (named.first > 0n && (oldest === undefined || named.first < oldest)) oldest = named.first;
  }
  const isBetween = former >= 0n && start > former;
  const own = isBetween && (await isEndedBy(base, changesKey(folder, former), access)) ? former : undefined;
  const listed = { folder, own, start, lastFirst, oldest, quiets };
  if (start < 0n) throw tooOld(base, listed);
  return listed;
}

/**
 * Whether an object ends with the base's revision. A missing or corrupt object does not matter, since the changes after
 * the base are in the next one.
 */
async function isEndedBy({ revision }: Base, key: string, access: WalkAccess): Promise<boolean> {
  try {
    const there = await thereOf(key, access);
    return there !== undefined && BigInt(there.closing.last) === revision;
  } catch (thrown) {
    if (thrown instanceof AgentError && thrown.reason === "ArchiveCorrupt") return false;
    throw thrown;
  }
}

/**
 * The changes after the base were deleted for their age. The first object of a history stays longer, but has no
 * changes.
 */
function tooOld({ revision }: Base, { folder, oldest }: Pick<Listed, "folder" | "oldest">): AgentError {
  const behind = `the archive ${folder} begins with revision ${oldest}, and the backup ends with ${revision}`;
  return new AgentError("ArchiveGap", `${behind}; use a later backup`);
}

async function* revisionsIn(lines: ReturnType<typeof linesOf>): AsyncGenerator<Archived, Ends> {
  let leases: LeaseLine[] = [];
  let changes: (PutLine | DeleteLine)[] = [];
  let open: Omit<Archived, "leases" | "changes"> | undefined;
  for (;;) {
    const { value: line, done } = await lines.next();
    if (done) {
      if (open !== undefined && open.revision <= BigInt(line.closing.last)) yield { ...open, leases, changes };
      return line;
    }
    if ("ttl" in line) leases.push(line);
    else if ("put" in line || "delete" in line) changes.push(line);
    else if ("at" in line) {
      if (open !== undefined) yield { ...open, leases, changes };
      [leases, changes] = [[], []];
      const afterMs = line.after === undefined ? undefined : Date.parse(line.after);
      open = { revision: BigInt(line.revision), atMs: Date.parse(line.at), afterMs };
    }
  }
}

function check({ key, opening, closing }: Ends, first: bigint, before: Ends | undefined, base: Base): void {
  const { previous, gap } = opening;
  if (opening.clusterID !== base.clusterID) {
    throw new AgentError("ArchiveCorrupt", `${key} is of the cluster ${opening.clusterID}, not of ${base.clusterID}`);
  }
  if (BigInt(opening.first) !== first) {
    throw new AgentError(
      "ArchiveCorrupt",
      `${key} begins with revision ${opening.first}: it was stored under another name`,
    );
  }
  // `previous.key` is not compared: it is outdated after the archive was copied or moved.
  if (before !== undefined && previous?.sha256 !== before.sha256) {
    throw new AgentError("ArchiveCorrupt", `${key} was not stored after the object ${before.key}`);
  }
  if (gap !== undefined && BigInt(closing.last) > base.revision) {
    const what = `revisions ${base.revision + 1n} to ${closing.last} are not archived (${gap.reason}: ${gap.message})`;
    throw new AgentError("ArchiveGap", `${what}; use a backup made after them`);
  }
}
