import { type ClusterId, hexOf, type MemberId } from "#etcd/types.ts";
import { type AuthChange, AuthStore } from "./world-auth.ts";

/** What a member's log says. Terms and indexes are raft's; what a write writes does not matter, only that it stays. */
export type Entry =
  | { readonly term: number; readonly is: "noop" }
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
  /** "" until it has started for the first time; the first members of a cluster have theirs from the beginning. */
  readonly name: string;
  /** It has told where it serves clients, as every member does soon after its first start. */
  readonly isAnnounced: boolean;
  readonly peerUrl: string;
  readonly isLearner: boolean;
}

/** What one member has on its disk: it survives everything but the loss of the disk. */
export interface MemberData {
  readonly clusterId: ClusterId;
  readonly memberId: MemberId;
  readonly name: string;
  log: readonly Entry[];
  /** How many entries of the log are known to be committed. */
  committed: number;
  /** In the format of which minor it is; `undefined` before etcd 3.6 has written that. */
  storage?: number;
  /** The highest term in which it has voted. */
  term: number;
}

/** A volume. */
export interface Disk {
  readonly id: string;
  data: MemberData | undefined;
  /** Uid of the pod whose process holds it; one at a time, as a lock in the data directory sees to. */
  heldBy: string | undefined;
}

/** Logs are never changed, only replaced by longer ones: what was read from one once stays right. */
const read = new WeakMap<readonly Entry[], { committed: number; members: ReadonlyMap<MemberId, ListedMember> }>();

/** The members by the committed part of a log. */
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

/** Users and roles by the committed part of a log; for reading only. */
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

/** Raft's rule for votes: the later last term wins, then the longer log. */
export function isAtLeastAsNew(candidate: MemberData, voter: MemberData): boolean {
  const [a, b] = [candidate.log.at(-1)?.term ?? 0, voter.log.at(-1)?.term ?? 0];
  return a > b || (a === b && candidate.log.length >= voter.log.length);
}

export function shown(data: MemberData): string {
  return `${data.name}/${hexOf(data.memberId).slice(0, 4)} of ${hexOf(data.clusterId).slice(0, 4)}`;
}
