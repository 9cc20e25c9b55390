// Where changes lie, and as what.
//
//   <prefix>/<cluster ID>-<history>/<first revision>.changes     what happened, from its first revision on
//   <prefix>/<cluster ID>-<history>/<revision>.quiet-<time>      nothing happened after this revision until this time
//
// Why only the first revision in the name?
//   Nothing is ever overwritten. So of two archivers that go on from the same revision only one can write the next object, and the other one
//   finds it there, reads it and goes on behind it. With the last revision in the name both would write, and nobody knew which one counts.
// How is the next one found?
//   Each object tells its last revision, and the next one begins right behind it. Each tells the SHA-256 of the one before, too: so one that
//   is missing, or was changed, is found out, without a list of all of them.
// What is a gap?
//   An object like the others, which covers the revisions that nobody could archive. A history begins with one, from 0 on. Nothing can be
//   restored across a gap; a backup taken behind it is where restores begin again.
// What is a history?
//   Revisions count up, once. An etcd that was brought back from a backup counts some of them again, although it is called by the same ID:
//   then a new history begins. So it does when the key for encryption is another one.

/** Zeros in front, so that names sort like revisions. */
const DIGITS = 20;

export interface HistoryName {
  readonly clusterID: string;
  /** 1, 2, … */
  readonly number: number;
}

export function folderOf(prefix: string, { clusterID, number }: HistoryName): string {
  return `${prefix}/${clusterID}-${String(number).padStart(4, "0")}`;
}

export function changesKey(folder: string, first: bigint): string {
  return `${folder}/${digits(first)}.changes`;
}

export function quietKey(folder: string, revision: bigint, untilMs: number): string {
  return `${folder}/${digits(revision)}.quiet-${String(untilMs).padStart(15, "0")}`;
}

export type Named = HistoryName &
  (
    | { readonly kind: "changes"; readonly first: bigint }
    | { readonly kind: "quiet"; readonly revision: bigint; readonly untilMs: number }
  );

const NAME = /^([1-9a-f][0-9a-f]{0,15})-(\d{4,9})\/(\d{20})\.(?:changes|quiet-(\d{15}))$/;

/** What a key below the prefix names; undefined for what is not ours. */
export function namedBy(prefix: string, key: string): Named | undefined {
  const [, clusterID, number, revision, until] = NAME.exec(key.slice(prefix.length + 1)) ?? [];
  if (clusterID === undefined || revision === undefined || !key.startsWith(`${prefix}/`)) return undefined;
  const name = { clusterID, number: Number(number) };
  if (until === undefined) return { ...name, kind: "changes", first: BigInt(revision) };
  return { ...name, kind: "quiet", revision: BigInt(revision), untilMs: Number(until) };
}

function digits(revision: bigint): string {
  return revision.toString().padStart(DIGITS, "0");
}
