import { parseArgs } from "node:util";
import { MAX_SHARDS } from "../../src/bin/permissions.ts";

const CLUSTERS = 100;

/** Options of the fleet bench. */
export interface FleetOptions {
  readonly clusters: number;
  /** Members of each cluster. */
  readonly members: number;
  /** Namespaces over which the clusters are spread. */
  readonly namespaces: number;
  /** Most clusters that are not Ready at a time: the next is created when one becomes Ready. */
  readonly atOnce: number;
  /** Clusters that have a silent member while another cluster is edited. */
  readonly silent: number;
  /** Whether members use TLS with certificates by the operator; plain text otherwise. */
  readonly tls: boolean;
  /** Shards of the fleet, each led by its own process; 1: one process leads everything. */
  readonly shards: number;
  /** Whether to end after the creation and the minutes that follow. */
  readonly isBrief: boolean;
  /** Flags of Node to run the operator with; undefined: those of its image. */
  readonly nodeFlags: readonly string[] | undefined;
  /** Folder for CPU profiles of the operator; undefined: none is taken. Taking them costs time. */
  readonly profiles: string | undefined;
}

/** The options of the command line, apart from the number of clusters. */
export const FLEET_FLAGS = {
  silent: { type: "string" },
  members: { type: "string" },
  namespaces: { type: "string" },
  "at-once": { type: "string" },
  brief: { type: "boolean", default: false },
  "node-flags": { type: "string" },
  profiles: { type: "string" },
  tls: { type: "boolean", default: false },
  shards: { type: "string" },
} as const;

/** @throws Error that names the wrong option */
export function fleetOptions(): FleetOptions {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: FLEET_FLAGS });
  const clusters = wholeNumber("the number of clusters", positionals[0], CLUSTERS, 4, 10_000);
  const atOnce = wholeNumber("--at-once", values["at-once"], clusters, 1, clusters);
  const members = wholeNumber("--members", values.members, 3, 1, 5);
  const namespaces = wholeNumber("--namespaces", values.namespaces, 1, 1, Math.min(clusters, 1_000));
  const silent = wholeNumber("--silent", values.silent, 0, 0, clusters - 3);
  const shards = wholeNumber("--shards", values.shards, 1, 1, MAX_SHARDS);
  const nodeFlags = values["node-flags"]?.split(" ").filter((flag) => flag !== "");
  const { tls, brief: isBrief, profiles } = values;
  return { clusters, members, namespaces, atOnce, silent, tls, shards, isBrief, nodeFlags, profiles };
}

function wholeNumber(what: string, text: string | undefined, otherwise: number, min: number, max: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new Error(`${what} is ${text}; it must be a whole number from ${min} to ${max}`);
}
