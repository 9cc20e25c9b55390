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
//   A pod can be killed at any moment, and etcd starts with whatever it finds in its data directory. So what `etcdutl` makes grows where
//   nobody looks, and a rename brings it to its place: all of it, or nothing.
// Why the marker?
//   A Job may run a second pod after the first one has done it, even when a member has long been running there. The restore's uid within
//   the directory, which comes with the same rename, tells what is its own; whatever does not carry it is somebody's data. It also tells
//   which snapshot that is: the second pod may have fetched another one, and what lies there is what its members must have in common.

/** Beside what etcd keeps in `member`, which leaves it alone. */
const MARKER = join("member", "restored.json");
const DATABASE = join("member", "snap", "db");

interface Marker {
  readonly restoreUID: string;
  /** With which the member starts. */
  readonly revision: string;
  /** Of the snapshot that was fetched. */
  readonly sha256?: string;
}

/** @throws AgentError DataExists when somebody else's data is there; then nothing has been touched */
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
    await rename(own, workDir).catch(() => undefined); // somebody else is at work there
    throw thrown;
  }
}

/** @param own where the work directory is, which nobody else knows */
async function move(own: string, { workDir, restored, dataDir, restoreUID }: FinishTask) {
  const { host, sha256 } = await readExpectation(own);
  if (host !== hostname()) {
    throw new AgentError("AnotherAttempt", `${workDir} is that of the pod ${host}, which works on this volume, too`);
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

/** Of this restore; undefined when there is nothing, not even by anybody else. */
async function formerResult(dataDir: string, restoreUID: string): Promise<Marker | undefined> {
  const names = await readdir(dataDir).catch(absent);
  if (names === undefined || names.length === 0) return undefined;
  const marker = markerIn(await readFile(join(dataDir, MARKER), "utf8").catch(absent));
  if (marker?.restoreUID === restoreUID) return marker;
  const whose = marker === undefined ? "nobody has marked" : `the restore with uid ${marker.restoreUID} has made`;
  throw new AgentError(
    "DataExists",
    `${dataDir} holds data that ${whose} (${names.slice(0, 5).join(", ")}); it must be empty or absent for the restore with uid ${restoreUID}`,
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

/** Files first, then what names them. */
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
    if (typeof restoreUID !== "string" || typeof revision !== "string") return undefined;
    return { restoreUID, revision, ...(typeof sha256 === "string" ? { sha256 } : {}) };
  } catch {
    return undefined; // It is somebody else's file, or not there.
  }
}
