import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { type LockOptions, withLock } from "../lock.ts";
import { type Link, linkOf } from "./addresses.ts";
import { RUN_ROOT, type SlotRecord, slotFor } from "./slots.ts";

const STATE_ROOT = join(import.meta.dirname, "..", "..", ".local");

/**
 * Limit for waiting on another command of the same instance, in milliseconds: longer than an `up` with everything
 * built.
 */
const OTHER_COMMAND_MS = 180_000;

export const DEFAULT_INSTANCE = "demo";

/** A local Kubernetes, with the paths of its files. */
export interface Instance extends SlotRecord {
  readonly name: string;
  readonly link: Link;
  /** Folder for sockets and the namespace's handle, with a path short enough for a unix socket (108 bytes). */
  readonly runFolder: string;
  /** Handle of the network namespace, for nsenter. */
  readonly networkFile: string;
  readonly kubeconfig: string;
  readonly logs: string;
  readonly pki: string;
  readonly config: string;
}

/** Folder of an instance's state. @throws Failure when the name cannot be a part of file names */
export function stateFolder(name: string): string {
  if (!/^[a-z0-9][a-z0-9-]{0,30}$/.test(name)) {
    throw new Failure(`--instance is "${name}"; it must be 1 to 31 lower-case letters, digits and dashes.`);
  }
  return join(STATE_ROOT, name);
}

/** The running instance; undefined when there is none of this name. */
export function findInstance(name: string): Instance | undefined {
  const record = slotFor(stateFolder(name));
  return record === undefined ? undefined : instanceOf(name, record);
}

/** @throws Failure when there is none of this name */
export function needInstance(name: string): Instance {
  const instance = findInstance(name);
  if (instance === undefined) {
    const flag = name === DEFAULT_INSTANCE ? "" : ` --instance ${name}`;
    throw new Failure(`No local Kubernetes "${name}" is up. Start it with: npm run local -- up${flag}`);
  }
  return instance;
}

export function instanceOf(name: string, record: SlotRecord): Instance {
  const runFolder = join(RUN_ROOT, String(record.slot));
  return {
    ...record,
    name,
    link: linkOf(record.slot),
    runFolder,
    networkFile: join(runFolder, "network"),
    kubeconfig: join(record.folder, "kubeconfig"),
    logs: join(record.folder, "logs"),
    pki: join(record.folder, "pki"),
    config: join(record.folder, "config"),
  };
}

/** Runs `work` while no other command changes this instance. */
export function withInstanceLock<T>(name: string, work: () => Promise<T>, onWait?: LockOptions["onWait"]): Promise<T> {
  const options = { waitMs: OTHER_COMMAND_MS, ...(onWait === undefined ? {} : { onWait }) };
  return withLock(`${stateFolder(name)}.lock`, work, options);
}

/** Number of the instance's nodes; undefined before its first `up`. */
export function recordedNodes(folder: string): number | undefined {
  const file = nodesFile(folder);
  if (!existsSync(file)) return undefined;
  const nodes = Number(readFileSync(file, "utf8"));
  return Number.isInteger(nodes) && nodes > 0 ? nodes : undefined;
}

/** Numbers of the instance's nodes. */
export function nodesOf(instance: Instance): number[] {
  return Array.from({ length: recordedNodes(instance.folder) ?? 0 }, (_, index) => index + 1);
}

export function recordNodes(folder: string, nodes: number): void {
  writeFileSync(nodesFile(folder), `${nodes}\n`);
}

function nodesFile(folder: string): string {
  return join(folder, "nodes.count");
}
