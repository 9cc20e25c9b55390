import { randomUUID } from "node:crypto";
import type { Log } from "#base/log.ts";
import { hexOf } from "#etcd/types.ts";
import type { EncryptionKey } from "./archive/key.ts";
import { type Manifest, manifestKeyOf, manifestText } from "./archive/manifest.ts";
import { type Copied, manifestFor, objectOf } from "./backup-manifest.ts";
import { type Answer, chooseMember, type Member } from "./choose-member.ts";
import { contentOf } from "./content.ts";
import { asAgentError, type CopyParts, copySnapshot } from "./copy.ts";
import { AgentError } from "./error.ts";
import type { BackupObject, FailureReason } from "./report.ts";
import type { Sources } from "./source.ts";
import { isStoreError } from "./store-error.ts";
import { ATTEMPT_METADATA, formerAttempt, inTheWay, isWhole, otherAttempt, readOwn, UID_METADATA } from "./stored.ts";
import type { BackupTask } from "./task.ts";

export interface BackupParts extends CopyParts {
  readonly sources: Pick<Sources, "ask">;
  /** Undefined: the snapshot is not encrypted. */
  readonly key: EncryptionKey | undefined;
  readonly log: Log;
}

/** Failures after which another member is tried. A member without quorum may be cut off from the others. */
const ANOTHER_MAY_DO: readonly FailureReason[] = ["SourceUnreachable", "NoQuorum", "SnapshotCorrupt"];

/** Deadline of the read before the snapshot, in milliseconds: time for a lagging member to catch up. */
const CATCH_UP_MS = 10_000;

/**
 * Time limit for cleaning up, in milliseconds; after it the next attempt cleans up. The kubelet gives a pod 30 s to
 * end.
 */
const CLEANUP_MS = 15_000;

/**
 * Stores a snapshot, or finds one that an earlier attempt stored. @throws AgentError; then no backup exists, and no
 * object that looks like one
 */
export async function backUp(task: BackupTask, parts: BackupParts): Promise<BackupObject> {
  const { store, signal, log, board } = parts;
  const former = await formerAttempt(store, task.key, task.backupUID, parts);
  if (former !== undefined) {
    log.info({ object: task.key }, "an earlier attempt has stored the snapshot");
    return objectOf(former);
  }
  const attempt = randomUUID();
  const startedAt = new Date(parts.clock.wallMs()).toISOString();
  const copied = await copyFromSome(task, attempt, parts).catch((thrown: unknown) => {
    if (thrown instanceof AgentError && thrown.reason === "ObjectExists") return undefined;
    throw thrown;
  });
  if (copied === undefined) return objectOf(await otherAttempt(store, task.key, task.backupUID, signal));
  const completedAt = new Date(parts.clock.wallMs()).toISOString();
  const ours = manifestFor({ task, key: parts.key, copied, attempt, startedAt, completedAt });
  const manifest = await putManifest(ours, parts).catch(async (thrown: unknown) => {
    await removeObject(ours, parts);
    throw thrown;
  });
  // A concurrent attempt deletes an object that has no manifest yet.
  if (!isWhole({ object: await store.head(task.key, { signal }), manifest })) throw inTheWay(task.key);
  board.phase = "Done";
  return objectOf(manifest);
}

/** Copies from the best member, or from the next best when that fails. */
async function copyFromSome(task: BackupTask, attempt: string, parts: BackupParts): Promise<Copied> {
  const metadata = { [UID_METADATA]: task.backupUID, [ATTEMPT_METADATA]: attempt };
  const target = { key: task.key, metadata, packing: { compression: task.compression, key: parts.key } };
  const failed = new Set<Member["source"]>();
  for (let last: AgentError | undefined; ; ) {
    const answers = await parts.sources.ask(parts.signal, failed);
    const member = chooseAnother(answers, task.source.clusterID, last);
    const { source, status } = member;
    const names = { member: hexOf(status.memberId), address: source.address };
    parts.log.info({ ...names, version: status.version, bytes: status.dbSizeBytes }, "reading a snapshot");
    try {
      // A linearizable read: the snapshot then holds everything acknowledged before the backup began. Its revision is
      // the least that the snapshot holds.
      const revision = await source.revision({ signal: parts.signal, deadlineMs: CATCH_UP_MS });
      const { dbSizeBytes } = status;
      const content = await contentOf(source, { revision, dbSizeBytes }, parts.signal);
      return { member, revision, content, measures: await copySnapshot(member, target, parts) };
    } catch (thrown) {
      last = asAgentError(thrown);
      if (!ANOTHER_MAY_DO.includes(last.reason)) throw last;
      parts.log.warn(
        { ...names, code: last.reason, error: last.message },
        "the member failed; another member is tried",
      );
      failed.add(source);
    }
  }
}

/** @param last error of the previous member; it explains more than the lack of further members */
function chooseAnother(
  answers: readonly Answer[],
  clusterID: string | undefined,
  last: AgentError | undefined,
): Member {
  try {
    return chooseMember(answers, clusterID);
  } catch (thrown) {
    throw last ?? thrown;
  }
}

/** @returns the written manifest, or that of a concurrent attempt that completed the backup first */
async function putManifest(manifest: Manifest, { store, signal }: BackupParts): Promise<Manifest> {
  const key = manifestKeyOf(manifest.key);
  const metadata = { [UID_METADATA]: manifest.backupUID, [ATTEMPT_METADATA]: manifest.attempt };
  const isPut = async () => {
    try {
      await store.put(key, once(Buffer.from(manifestText(manifest))), { metadata, signal });
      return true;
    } catch (thrown) {
      if (!isStoreError(thrown, "ObjectExists")) throw thrown;
      return false;
    }
  };
  if (await isPut()) return manifest;
  const stored = await readOwn(store, manifest.key, manifest.backupUID, signal);
  if (isWhole(stored)) return stored.manifest;
  if (stored.object?.metadata[ATTEMPT_METADATA] === manifest.attempt) {
    // A late pod of the same Job wrote this manifest: its object is gone, since ours exists.
    await store.delete(key, { signal });
    if (await isPut()) return manifest;
  }
  throw inTheWay(manifest.key);
}

/** Best effort: an object without a manifest is deleted by the next attempt. */
async function removeObject({ key, attempt }: Manifest, { store, log }: BackupParts): Promise<void> {
  const signal = AbortSignal.timeout(CLEANUP_MS);
  try {
    const object = await store.head(key, { signal });
    if (object?.metadata[ATTEMPT_METADATA] === attempt) await store.delete(key, { signal });
  } catch (thrown) {
    log.warn({ object: key, error: asAgentError(thrown).message }, "an object without a manifest could not be deleted");
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield await Promise.resolve(bytes);
}
