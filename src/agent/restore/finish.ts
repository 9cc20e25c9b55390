import { constants, type Dirent } from "node:fs";
import { open, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join, relative } from "node:path";
import { factsOf } from "../bbolt/snapshot-facts.ts";
import { AgentError } from "../error.ts";
import type { FinishReport } from "../report.ts";
import type { FinishTask } from "../task.ts";
import { readExpectation } from "./expectation.ts";
import { absent, onDisk, ownNameFor, removeWorkDir } from "./work-dir.ts";

// Why is it moved?
//   A pod can be killed at any moment, and etcd starts with whatever is in its data directory. So `etcdutl` writes
//   elsewhere, and one rename moves all of it into place, or nothing.
// Why the marker?
//   A Job may run a second pod after the first has succeeded, even when the member has run for long. The restore's uid
//   inside the directory, moved by the same rename, identifies the restore's own data; data without it is foreign. The
//   marker also has the snapshot's SHA-256: the second pod may have fetched another object, and all members must have
//   the same one.

/** Beside etcd's own files in `member`, which etcd ignores. */
const MARKER = join("member", "restored.json");
const DATABASE = join("member", "snap", "db");

interface Marker {
  readonly restoreUID: string;
  /** Revision with which the member starts. */
  readonly revision: string;
  /** SHA-256 of the fetched snapshot. */
  readonly sha256: string;
}

/** @throws AgentError DataExists when foreign data is there; then nothing has been touched */
export async function finishRestore(task: FinishTask): Promise<Omit<FinishReport, "ok" | "kind">> {
  const { workDir, dataDir, restoreUID } = task;
  const former = await onDisk(dataDir, () => formerResult(dataDir, restoreUID));
  if (former !== undefined) {
    await removeWorkDir(workDir);
    const { restoreUID: _, ...lying } = former;
    return { moved: false, ...lying };
  }
  const own = ownNameFor(workDir);
  await onDisk(workDir, () => rename(workDir, own));
  try {
    return { moved: true, ...(await move(own, task)) };
  } catch (thrown) {
    await rename(own, workDir).catch(() => undefined); // another pod is working there
    throw thrown;
  }
}

/** @param own new path of the work directory, unknown to other pods */
async function move(own: string, { workDir, restored, dataDir, restoreUID }: FinishTask) {
  const { host, sha256 } = await readExpectation(own);
  if (host !== hostname()) {
    throw new AgentError("AnotherAttempt", `${workDir} belongs to the pod ${host}, which works on this volume, too`);
  }
  const source = join(own, relative(workDir, restored));
  const revision = (await factsIn(source)).revision.toString();
  await onDisk(restored, async () => {
    await writeFile(join(source, MARKER), JSON.stringify({ restoreUID, revision, sha256 } satisfies Marker), {
      mode: 0o600,
    });
    await syncAll(source);
    await rename(source, dataDir);
    await sync(dirname(dataDir));
  });
  await removeWorkDir(own);
  return { revision, sha256 };
}

/** Marker of this restore; undefined when the data directory is empty or missing. */
async function formerResult(dataDir: string, restoreUID: string): Promise<Marker | undefined> {
  const names = await readdir(dataDir).catch(absent);
  if (names === undefined || names.length === 0) return undefined;
  const marker = markerIn(await readFile(join(dataDir, MARKER), "utf8").catch(absent));
  if (marker?.restoreUID === restoreUID) return marker;
  const origin = marker === undefined ? "no restore has marked" : `the restore with uid ${marker.restoreUID} has made`;
  throw new AgentError(
    "DataExists",
    `${dataDir} holds data that ${origin} (${names.slice(0, 5).join(", ")}); it must be empty or absent for the restore with uid ${restoreUID}`,
  );
}

async function factsIn(restored: string) {
  const path = join(restored, DATABASE);
  const database = await open(path).catch(absent);
  if (database === undefined) {
    throw new AgentError(
      "Internal",
      `there is no database ${path}; \`etcdutl snapshot restore\` must have made it before`,
    );
  }
  await database.close();
  return await factsOf(path);
}

/** Files first, then the directories that contain them. */
async function syncAll(path: string): Promise<void> {
  const entries: readonly Dirent[] = await readdir(path, { withFileTypes: true });
  for (const entry of entries) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await syncAll(child);
    else await sync(child);
  }
  await sync(path);
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function markerIn(text: string | undefined): Marker | undefined {
  try {
    const { restoreUID, revision, sha256 } = JSON.parse(text ?? "") as Partial<Marker>;
    const isWhole = [restoreUID, revision, sha256].every((each) => typeof each === "string");
    return isWhole ? ({ restoreUID, revision, sha256 } as Marker) : undefined;
  } catch {
    return undefined; // The file is foreign or missing.
  }
}
