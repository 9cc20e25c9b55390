// Where are changes stored, and in which form?
//   <prefix>/<cluster ID>-<history>/<first revision>.changes     changes from the first revision on
//   <prefix>/<cluster ID>-<history>/<revision>.quiet-<time>      nothing happened after this revision until this time
// Why only the first revision in the name?
//   Nothing is ever overwritten. So of two archivers that continue from the same revision only one can write the next
//   object. The other finds it, reads it and continues after it. With the last revision in the name both would write,
//   and neither would be authoritative.
// How is the next object found?
//   Each object contains its last revision, and the next begins right after it. Each contains the SHA-256 of the object
//   before it, so a missing or changed object is detected without a list.
// What is a gap?
//   An object that covers revisions which could not be archived. A history begins with a gap from revision 0. Nothing
//   can be restored across a gap; restores begin again with a backup made after it.
// What is a history?
//   A sequence of increasing revisions. An etcd restored from a backup reuses revisions, although its cluster ID is the
//   same: then a new history begins. The same happens when the encryption key changes.

/** Leading zeros, so that names sort like revisions. */
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

/** Parses a key below the prefix; undefined for other objects. */
export function namedBy(prefix: string, key: string): Named | undefined {
  const [, clusterID, number, revision, until] = NAME.exec(key.slice(prefix.length + 1)) ?? [];
  if (clusterID === undefined || revision === undefined || !key.startsWith(`${prefix}/`)) return undefined;
  const name = { clusterID, number: Number(number) };
  if (until === undefined) return { ...name, kind: "changes", first: BigInt(revision) };
  return { ...name, kind: "quiet", revision: BigInt(revision), untilMs: Number(until) };
}

/** Folder of an object with archived changes, whatever its prefix is; undefined for other objects. */
export function archiveFolderOf(key: string): string | undefined {
  const place = key.lastIndexOf("/", key.lastIndexOf("/") - 1);
  return place > 0 && namedBy(key.slice(0, place), key) !== undefined ? key.slice(0, key.lastIndexOf("/")) : undefined;
}

function digits(revision: bigint): string {
  return revision.toString().padStart(DIGITS, "0");
}
