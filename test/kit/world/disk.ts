import { type ClusterId, hexOf, type MemberId } from "#etcd/types.ts";
import { type AuthChange, AuthStore } from "./auth.ts";

/**
 * One entry of a member's log, with raft's terms and indexes. The data of a write does not matter, only that it is not
 * lost.
 */
export type Entry =
  | { readonly term: number; readonly is: "noop" }
  /** A request of API v2, which a member of 3.5 writes at each start. */
  | { readonly term: number; readonly is: "v2" }
  | { readonly term: number; readonly is: "write"; readonly number: number }
  | { readonly term: number; readonly is: "add"; readonly member: ListedMember }
  | { readonly term: number; readonly is: "update"; readonly id: MemberId; readonly peerUrl: string }
  | { readonly term: number; readonly is: "auth"; readonly change: AuthChange }
  | {
      readonly term: number;
      readonly is: "promote" | "remove" | "started";
      readonly id: MemberId;
      readonly name?: string;
    };

export interface ListedMember {
  readonly id: MemberId;
  /**
   * "" until the member has started for the first time. The first members of a cluster have their names from the
   * beginning.
   */
  readonly name: string;
  /** Whether it has published its client URLs, as every member does soon after its first start. */
  readonly isAnnounced: boolean;
  readonly peerUrl: string;
  readonly isLearner: boolean;
}

/** The data directory of one member. Only the loss of the disk destroys it. */
export interface MemberData {
  readonly clusterId: ClusterId;
  readonly memberId: MemberId;
  readonly name: string;
  log: readonly Entry[];
  /** How many entries of the log are known to be committed. */
  committed: number;
  /** How many entries the last raft snapshot covers. A restart reads only the entries after it. */
  snapshot?: number;
  /** The minor release of the storage format; `undefined` before etcd 3.6 has written one. */
  storage?: number;
  /** The highest term that the member has seen. */
  term: number;
}

/** A volume. */
export interface Disk {
  readonly id: string;
  data: MemberData | undefined;
  /** Uid of the pod with the process that holds the disk. At most one, because etcd locks its data directory. */
  heldBy: string | undefined;
}

/** Logs are never changed, only replaced by longer ones, so results computed from one stay valid. */
const read = new WeakMap<readonly Entry[], { committed: number; members: ReadonlyMap<MemberId, ListedMember> }>();

/** The members according to the committed part of a log. */
export function membersOf({ log, committed }: MemberData): ReadonlyMap<MemberId, ListedMember> {
  const before = read.get(log);
  if (before?.committed === committed) return before.members;
  const members = new Map<MemberId, ListedMember>();
  for (const entry of log.slice(0, committed)) {
    if (entry.is === "add") members.set(entry.member.id, entry.member);
    else if (entry.is === "remove") members.delete(entry.id);
    else if (entry.is === "update") change(members, entry.id, { peerUrl: entry.peerUrl });
    else if (entry.is === "promote") change(members, entry.id, { isLearner: false });
    else if (entry.is === "started") change(members, entry.id, { name: entry.name ?? "", isAnnounced: true });
  }
  read.set(log, { committed, members });
  return members;
}

const readAuth = new WeakMap<readonly Entry[], { committed: number; store: AuthStore }>();

/** Users and roles according to the committed part of a log; for reading only. */
export function authOf({ log, committed }: MemberData): AuthStore {
  const before = readAuth.get(log);
  if (before?.committed === committed) return before.store;
  const store = new AuthStore();
  for (const entry of log.slice(0, committed)) if (entry.is === "auth") store.apply(entry.change);
  readAuth.set(log, { committed, store });
  return store;
}

function change(members: Map<MemberId, ListedMember>, id: MemberId, to: Partial<ListedMember>): void {
  const member = members.get(id);
  if (member !== undefined) members.set(id, { ...member, ...to });
}

export function votersOf(data: MemberData): readonly MemberId[] {
  return [...membersOf(data).values()].filter(({ isLearner }) => !isLearner).map(({ id }) => id);
}

/** Whether entries that etcd 3.7 cannot read follow the member's last raft snapshot: test/etcd/raft-entries.test.ts. */
export function hasV2Entries({ log, snapshot = 0 }: MemberData): boolean {
  return log.slice(snapshot).some((entry) => entry.is === "v2");
}

/** Raft's rule for votes: the later last term wins, then the longer log. */
export function isAtLeastAsNew(candidate: MemberData, voter: MemberData): boolean {
  const [a, b] = [candidate.log.at(-1)?.term ?? 0, voter.log.at(-1)?.term ?? 0];
  return a > b || (a === b && candidate.log.length >= voter.log.length);
}

export function shown(data: MemberData): string {
  return `${data.name}/${hexOf(data.memberId).slice(0, 4)} of ${hexOf(data.clusterId).slice(0, 4)}`;
}
