import { type FileHandle, open, rename } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Log } from "#base/log.ts";
import type { ObjectStore, StoredObject } from "#objectstore/store.ts";
import type { Bytes } from "../archive/bytes.ts";
import { SnapshotCheck } from "../archive/integrity.ts";
import type { EncryptionKey } from "../archive/key.ts";
import { type Manifest, manifestKeyOf } from "../archive/manifest.ts";
import { unpacked } from "../archive/pack.ts";
import { refusalOf, unpackedByLooks } from "../archive/unknown.ts";
import { switchAuth } from "../bbolt/auth-switch.ts";
import { factsOf, type SnapshotFacts } from "../bbolt/snapshot-facts.ts";
import { asAgentError } from "../copy.ts";
import { AgentError } from "../error.ts";
import type { ProgressBoard } from "../progress.ts";
import type { FetchedSnapshot } from "../report.ts";
import { readStored } from "../stored.ts";
import { type FetchTask, SNAPSHOT_FILE } from "../task.ts";
import { type Expectation, leaveExpectation } from "./expectation.ts";
import { checkExpected, checkManifest } from "./expected.ts";
import { makeWorkDir, onDisk, Room, removeWorkDir } from "./work-dir.ts";

export interface FetchParts {
  readonly store: ObjectStore;
  /** Undefined: the snapshot must not be encrypted. */
  readonly key: EncryptionKey | undefined;
  readonly board: ProgressBoard;
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** A stored snapshot, and what is known before its first byte. */
interface Found {
  readonly object: StoredObject;
  readonly manifest: Manifest | undefined;
}

/** The written file. */
interface Written {
  readonly bytes: number;
  readonly sha256: string;
}

/** Fetches the snapshot to the work directory. @throws AgentError; then the directory does not exist */
export async function fetchSnapshot(task: FetchTask, parts: FetchParts): Promise<FetchedSnapshot> {
  const { board, log } = parts;
  await makeWorkDir(task.workDir);
  try {
    const found = await find(task, parts);
    const room = await Room.on(task.workDir, task.roomBytes);
    room.check(found.manifest?.bytes ?? found.object.bytes);
    board.phase = "Copying";
    board.bytesExpected = found.manifest?.bytes ?? found.object.bytes;
    const part = join(task.workDir, `${SNAPSHOT_FILE}.part`);
    const written = await write(task, found, part, room, parts);
    board.phase = "Finishing";
    const facts = await factsOf(part);
    checkExpected(task, found.manifest, { key: task.key, ...written, ...facts });
    const fetched = { key: task.key, ...written, revision: facts.revision.toString(), ...originOf(found, facts) };
    const isAuthLifted = facts.authEnabled && task.auth === "Lift";
    if (isAuthLifted) await onDisk(part, () => switchAuth(part, false));
    await leaveExpectation(task.workDir, {
      ...expectationOf(found, fetched),
      ...(isAuthLifted ? { isAuthLifted } : {}),
    });
    // No fsync: only the pod's next container reads the file. When the node is lost, the restore begins again.
    await onDisk(part, () => rename(part, join(task.workDir, SNAPSHOT_FILE)));
    board.phase = "Done";
    return fetched;
  } catch (thrown) {
    await removeWorkDir(task.workDir).catch((left: Error) => {
      log.warn({ error: left.message }, "the work directory could not be deleted");
    });
    throw asAgentError(thrown);
  }
}

async function find(task: FetchTask, { store, key: secret, signal, log }: FetchParts): Promise<Found> {
  const { key, expect } = task;
  const { object, manifest } = await readStored(store, key, signal);
  if (object === undefined) {
    const rest = manifest === undefined ? "" : "; only its manifest exists";
    throw new AgentError("NoSuchObject", `there is no object ${key}${rest}`);
  }
  if (manifest !== undefined) checkManifest(manifest, object, task);
  else if (expect?.backupUID !== undefined && expect.sha256 === undefined) {
    throw new AgentError(
      "NoSuchObject",
      `${key} has no manifest ${manifestKeyOf(key)}: whether it is the backup's is unknown`,
    );
  } else log.info({ object: key }, "the object has no manifest: only etcd's own checksum verifies it");
  const refusal = manifest && refusalOf(manifest.encryption !== undefined, secret, manifest.encryption?.keyID);
  if (refusal !== undefined) throw refusal;
  return { object, manifest };
}

async function write(
  task: FetchTask,
  { manifest }: Found,
  path: string,
  room: Room,
  parts: FetchParts,
): Promise<Written> {
  const { store, key, board, signal } = parts;
  const source = store.get(task.key, { signal });
  const check = new SnapshotCheck();
  const bytes: Bytes =
    manifest === undefined
      ? unpackedByLooks(source, key, check)
      : unpacked(source, { compression: manifest.compression, key }, manifest, check);
  const file = await onDisk(path, () => open(path, "wx", 0o600));
  try {
    for await (const chunk of bytes) {
      room.check(board.bytesRead + chunk.length);
      board.bytesRead += chunk.length;
      await onDisk(path, () => writeAll(file, chunk));
      board.bytesStored = board.bytesRead;
    }
  } finally {
    await file.close();
  }
  return { bytes: check.bytes, sha256: check.sha256 };
}

export async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    written += (await file.write(chunk, written)).bytesWritten;
  }
}

function originOf({ manifest }: Found, facts: SnapshotFacts) {
  if (manifest === undefined) {
    return { ...(facts.clusterVersion === undefined ? {} : { etcdVersion: facts.clusterVersion }), hasManifest: false };
  }
  const { etcdVersion, cluster, backupUID } = manifest;
  const clusterUID = cluster.uid === undefined ? {} : { clusterUID: cluster.uid };
  return { etcdVersion, clusterID: cluster.id, ...clusterUID, backupUID, hasManifest: true };
}

function expectationOf({ manifest }: Found, { key, revision, sha256 }: FetchedSnapshot): Expectation {
  const host = hostname();
  if (manifest === undefined) return { key, host, revision, sha256 };
  const { keys, hashKV } = manifest;
  const content = { ...(keys === undefined ? {} : { keys }), ...(hashKV === undefined ? {} : { hashKV }) };
  return { key, host, revision, sha256, manifest: { revision: manifest.revision, ...content } };
}
