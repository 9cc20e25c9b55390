import { columns } from "#base/columns.ts";
import { StoreError } from "#objectstore/error.ts";
import type { ObjectStore, StoredObject } from "#objectstore/store.ts";
import { describedBy } from "./archive/manifest.ts";
import { archiveFolderOf } from "./changes/layout.ts";
import { AgentError } from "./error.ts";
import { readStored } from "./stored.ts";

/**
 * Number of manifests that are read, the newest ones, with two requests for each. If smaller, fewer backups are listed
 * without a prefix. If larger, the list takes minutes.
 */
const MAX_LISTED = 500;
/** Number of folders with archived changes that are listed. It bounds memory and output. */
const MAX_FOLDERS = 500;

interface Listed {
  /** Lines of text, the newest backup last. They have no control characters, whatever the store has. */
  readonly lines: readonly string[];
  /** Number of manifests in the store. */
  readonly backups: number;
}

/** Lists backups and archived changes below a prefix. @throws StoreError */
export async function listBackups(store: ObjectStore, prefix: string, signal: AbortSignal): Promise<Listed> {
  const found: { readonly key: string; readonly time: string }[] = [];
  const folders = new Map<string, Date>();
  let backups = 0;
  for await (const object of store.list(prefix, { signal })) {
    const key = describedBy(object.key);
    if (key !== undefined) {
      backups += 1;
      found.push({ key, time: timeOf(key, object) });
      if (found.length > 2 * MAX_LISTED) keepNewest(found);
    }
    const folder = archiveFolderOf(object.key);
    const known = folder === undefined ? undefined : folders.get(folder);
    if (
      folder !== undefined &&
      (known !== undefined || folders.size < MAX_FOLDERS) &&
      !(known && known >= object.modified)
    )
      folders.set(folder, object.modified);
  }
  keepNewest(found);
  const rows: string[][] = [["COMPLETED", "STATE", "CLUSTER", "ETCD", "REVISION", "BYTES", "ENCRYPTION-KEY", "OBJECT"]];
  for (const { key } of found) rows.push(await rowOf(key, store, signal));
  const older = backups - found.length;
  return {
    lines: [
      ...tableOf(rows),
      ...(older > 0 ? [`(${older} older backups are not shown: set "prefix" to list a part of them)`] : []),
      ...(folders.size === 0 ? [] : ["", "Archived changes, with the time of the last object:"]),
      ...[...folders].map(([folder, last]) => `${plain(folder)}  ${last.toISOString()}`),
    ],
    backups,
  };
}

/**
 * Time in the name of the object, which a copy keeps. When the name has none, or one more than AHEAD_MS after the object
 * was stored, the time of storing. So names with false times do not displace real backups from the list.
 */
function timeOf(key: string, { modified }: StoredObject): string {
  const [inName] = /\d{8}T\d{6}Z/.exec(key.slice(key.lastIndexOf("/") + 1)) ?? [];
  const stored = textOf(modified.getTime());
  return inName !== undefined && inName <= textOf(modified.getTime() + AHEAD_MS) ? inName : stored;
}

/** How far the clock of a node may be ahead of the store's, in milliseconds. */
const AHEAD_MS = 24 * 3_600_000;

function textOf(timeMs: number): string {
  return new Date(timeMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");
}

/** Sorts by time, and removes all but the newest. */
function keepNewest(found: { readonly time: string }[]): void {
  found.sort((a, b) => (a.time < b.time ? -1 : 1));
  found.splice(0, Math.max(0, found.length - MAX_LISTED));
}

async function rowOf(key: string, store: ObjectStore, signal: AbortSignal): Promise<string[]> {
  try {
    const { object, manifest } = await readStored(store, key, signal);
    if (manifest === undefined) return ["-", "gone", "-", "-", "-", "-", "-", key];
    const { completedAt, cluster, etcdVersion, revision, bytes, encryption } = manifest;
    const name = `${cluster.namespace}/${cluster.name ?? "external"}`;
    const facts = [name, etcdVersion, revision, String(bytes), encryption?.keyID ?? "none"];
    return [completedAt, stateOf(object, manifest.storedBytes), ...facts, key];
  } catch (thrown) {
    if (thrown instanceof AgentError) return ["-", "bad-manifest", "-", "-", "-", "-", "-", key];
    // A lifecycle rule may have moved this object to an archive class. The other objects are still listed.
    const isItsOwn = thrown instanceof StoreError && ["AccessDenied", "Other"].includes(thrown.reason);
    if (!isItsOwn || signal.aborted) throw thrown;
    return ["-", "unreadable", "-", "-", "-", "-", "-", key];
  }
}

function stateOf(object: StoredObject | undefined, storedBytes: number): string {
  if (object === undefined) return "no-object";
  return object.bytes === storedBytes ? "whole" : "other-size";
}

function tableOf(rows: readonly (readonly string[])[]): readonly string[] {
  return columns(rows.map((row) => row.map((cell, at) => (at === row.length - 1 ? plain(cell) : word(cell)))));
}

/** Anyone with write access to the store may have written the text: control characters would act on the terminal. */
function plain(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}

/** Text without spaces, so that awk can split the columns. */
function word(text: string): string {
  return plain(text).replaceAll(" ", "?") || "-";
}
