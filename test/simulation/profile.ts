import { type CallFaults, NO_CALL_FAULTS } from "#kit/world-calls.ts";
import { ACTS_OF_ACCESS, ACTS_OF_AUTH, ACTS_OF_TLS, PEOPLES_ACTS, type PeoplesAct, SWITCH } from "#kit/world-people.ts";
import { Random } from "#kit/world-random.ts";

/** What happens by itself in every history. */
export const ORDINARY = ["deliver", "call", "time", "kubernetes", "etcd"] as const;
/** What goes wrong. Each history has some of it. */
export const MISHAPS = [
  "crashOperator",
  "loseLease",
  "breakWatch",
  "expireWatch",
  "killContainer",
  "breakAgent",
  "nodeDown",
  "evict",
  "evictForWant",
  "emptyDisk",
  "corruptMember",
  "hideMember",
  "cutOffMember",
  "fillMember",
  "cutNode",
  "evictUnheard",
  "refuseWrites",
  "muteWatch",
  "skewClock",
] as const;
/** What goes wrong only where members speak TLS. */
export const MISHAPS_OF_TLS = ["longAbsence", "lateSecrets"] as const;
/** The last goes wrong only where a history leans to it: of all watches that of claims would rarely be the one that falls silent. */
export type Mishap = (typeof MISHAPS)[number] | (typeof MISHAPS_OF_TLS)[number] | "muteClaims";
export type Happening = (typeof ORDINARY)[number] | Mishap | PeoplesAct;

/** What stays wrong when everything else is repaired. */
export const OBSTACLES = [
  "none",
  "nodeStaysDown",
  "noVolume",
  "membersStayHidden",
  "diskEmptied",
  "podsRefused",
  "writesRefused",
] as const;
export type Obstacle = (typeof OBSTACLES)[number];

/** What people may set `spec.version` to: the last is what clusters are made with. */
const VERSIONS = ["3.5.21", "3.5.35", "3.7.3", "3.6.17", "3.6.99", "3.6.16"] as const;

/** One history before it is told: everything else follows from the seed. */
export interface Profile {
  readonly seed: number;
  readonly replicas: number;
  readonly hasLocalVolumes: boolean;
  readonly bindsLate: boolean;
  /** Whether etcd refuses what the real one would refuse. Where it does not, the operator alone sees to it. */
  readonly hasStrictEtcd: boolean;
  /** Steps in which things may go wrong. */
  readonly steps: number;
  /** Whether the cluster is complete before anything goes wrong. */
  readonly startsFormed: boolean;
  readonly weights: ReadonlyMap<Happening, number>;
  readonly callFaults: CallFaults;
  readonly obstacle: Obstacle;
  /** What people may set `spec.version` to. */
  readonly versions: readonly string[];
  /** `spec.tls` of the clusters that people make; undefined: they want none. */
  readonly tls: object | undefined;
  /** `spec.auth.enabled` of the clusters that people make; undefined: they say nothing of it. */
  readonly auth: boolean | undefined;
  /** Whether there are EtcdRoles and EtcdUsers. */
  readonly hasAccess: boolean;
  /** Whether people clean up behind themselves in the end. */
  readonly isTidied: boolean;
  /** How many other clusters are at rest. */
  readonly othersAtRest: number;
}

/** Whether nothing can take a pod away but `kubectl drain`; people may ask for more or fewer members meanwhile. */
export function hasOnlyEvictions({ weights, obstacle }: Profile): boolean {
  const harmless: readonly string[] = [...ORDINARY, "drain", "editReplicas"];
  return obstacle === "none" && [...weights.keys()].every((happening) => harmless.includes(happening));
}

/** How often each thing happens when it happens at all. */
const WEIGHTS: Readonly<Record<(typeof ORDINARY)[number], number>> = {
  deliver: 30,
  call: 25,
  time: 12,
  kubernetes: 30,
  etcd: 14,
};

/** Leans a profile towards something, for what is rare by itself. */
export interface Leaning {
  /** Happenings that always are possible, this often. */
  readonly often?: Readonly<Partial<Record<Happening, number>>>;
  /** Nothing else goes wrong, and calls fail only as `callFaults` says. */
  readonly onlyThat?: boolean;
  readonly callFaults?: Partial<CallFaults>;
  readonly replicas?: number;
  readonly startsFormed?: boolean;
  readonly obstacle?: Obstacle;
  readonly isTidied?: boolean;
  readonly hasLocalVolumes?: boolean;
  readonly bindsLate?: boolean;
  readonly hasStrictEtcd?: boolean;
  readonly steps?: number;
  /** `spec.tls` of the clusters that people make; `false`: they want none. */
  readonly tls?: object | false;
  readonly othersAtRest?: number;
  readonly auth?: boolean;
  /** People make EtcdRoles and EtcdUsers. */
  readonly hasAccess?: boolean;
}

/** What people write of TLS, as often as they stand here. Hours pass in few histories, and clocks are wrong by up to two. */
const LIFE = { provider: "Operator", duration: "12h", renewBefore: "4h" } as const;
const NO_SIDE = { provider: "None" } as const;
const TLS: readonly object[] = [
  { peer: LIFE, client: LIFE },
  { peer: LIFE, client: LIFE },
  {},
  { peer: LIFE, client: { ...LIFE, verifyClients: false } },
  { peer: NO_SIDE, client: LIFE },
  { peer: LIFE, client: NO_SIDE },
];
/** So many others that clusters at rest are looked at as rarely as can be. */
export const LARGE_FLEET = 1_000;
/** What of these lets members know who connects: the others may ask for users in half of the histories. */
const UNVERIFIED: readonly (object | undefined)[] = [undefined, TLS[3], TLS[5]];
const AUTH: readonly (boolean | undefined)[] = [true, true, true, false, undefined];
/** In one history of four members speak TLS. */
const TLS_SHARE = 0.25;
/** In one of a hundred, since they take long to come to rest, there are EtcdRoles and EtcdUsers. */
const ACCESS_SHARE = 0.01;

/** The same, with so little time for clients of both kinds that a history sees the end of it. */
function soonOver(tls: object | undefined): object {
  const { peer = {}, client = {} } = (tls ?? { peer: NO_SIDE, client: NO_SIDE }) as { peer?: object; client?: object };
  return { peer, client: { ...client, plaintextFor: "20s" } };
}

/**
 * The profile of a seed. Each fault is left out of about half of all histories: faults hide one another, and a history with few
 * of them goes further.
 */
export function profileOf(seed: number, leaning: Leaning = {}): Profile {
  const random = new Random(seed ^ 0x5eed);
  const weights = new Map<Happening, number>(Object.entries(WEIGHTS) as [Happening, number][]);
  const isCalm = random.chance(0.1) || leaning.onlyThat === true;
  for (const mishap of MISHAPS) if (!isCalm && random.chance(0.4)) weights.set(mishap, random.between(1, 3));
  const ofTheirOwn: readonly PeoplesAct[] = ["sleep", SWITCH, ...ACTS_OF_TLS, ...ACTS_OF_AUTH, ...ACTS_OF_ACCESS];
  for (const act of PEOPLES_ACTS.filter((each) => !ofTheirOwn.includes(each)))
    if (!isCalm && random.chance(0.3)) weights.set(act, random.between(1, 2));
  // Of its own numbers: most histories are what they were before anybody slept. In one in ten, since nothing else goes on meanwhile.
  if (!isCalm && new Random(seed ^ 0x51ee9).chance(0.1)) weights.set("sleep", 1);
  // Of its own numbers, too.
  const ofTls = new Random(seed ^ 0x715);
  const mayHave = ofTls.chance(TLS_SHARE) ? ofTls.pick(TLS) : undefined;
  const firstTls = leaning.tls === false ? undefined : (leaning.tls ?? mayHave);
  for (const happening of [...ACTS_OF_TLS, ...MISHAPS_OF_TLS])
    if (firstTls !== undefined && !isCalm && ofTls.chance(0.4)) weights.set(happening, 1);
  const ofAuth = new Random(seed ^ 0xa07);
  // Who asks for users needs TLS towards clients.
  const isSwitched = leaning.often?.[SWITCH] !== undefined;
  const mayAsk = leaning.tls === undefined && !isSwitched && !UNVERIFIED.includes(firstTls) && ofAuth.chance(0.5);
  const auth = leaning.auth ?? (mayAsk ? AUTH[ofAuth.below(AUTH.length)] : undefined);
  for (const happening of ACTS_OF_AUTH) if (mayAsk && !isCalm && ofAuth.chance(0.5)) weights.set(happening, 1);
  // Of its own numbers, too.
  const ofAccess = new Random(seed ^ 0xacce55);
  const hasAccess = leaning.hasAccess ?? (!isCalm && ofAccess.chance(ACCESS_SHARE));
  if (hasAccess) weights.set("putAccess", 4);
  for (const happening of ["editBinding", "editAccessByHand"] as const)
    if (hasAccess && !isCalm && ofAccess.chance(0.5)) weights.set(happening, 1);
  for (const [happening, weight] of Object.entries(leaning.often ?? {})) weights.set(happening as Happening, weight);
  const tls = weights.has(SWITCH) ? soonOver(firstTls) : firstTls;
  const some = (most: number): number => (random.chance(0.5) ? random.next() * most : 0);
  const faults = { late: some(0.6), unsent: some(0.15), lostReply: some(0.15), throttled: some(0.08) };
  const callFaults = { ...(isCalm ? NO_CALL_FAULTS : faults), ...leaning.callFaults };
  return {
    seed,
    replicas: leaning.replicas ?? random.pick([1, 1, 2, 3, 3, 3, 3, 5]) ?? 3,
    hasLocalVolumes: leaning.hasLocalVolumes ?? random.chance(0.4),
    steps: leaning.steps ?? random.between(40, 260),
    startsFormed: leaning.startsFormed ?? random.chance(0.4),
    weights,
    callFaults,
    obstacle: leaning.obstacle ?? (random.chance(0.7) ? "none" : (random.pick(OBSTACLES) ?? "none")),
    isTidied: leaning.isTidied ?? random.chance(0.6),
    hasStrictEtcd: leaning.hasStrictEtcd ?? random.chance(0.7),
    bindsLate: leaning.bindsLate ?? random.chance(0.3),
    versions: VERSIONS,
    tls,
    othersAtRest: leaning.othersAtRest ?? (new Random(seed ^ 0xf1ee7).chance(0.5) ? LARGE_FLEET : 0),
    auth,
    hasAccess,
  };
}
