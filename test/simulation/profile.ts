import { type CallFaults, NO_CALL_FAULTS } from "#kit/world/calls.ts";
import {
  ACTS_OF_ACCESS,
  ACTS_OF_AUTH,
  ACTS_OF_TLS,
  COPY,
  PEOPLES_ACTS,
  type PeoplesAct,
  SWITCH,
} from "#kit/world/people.ts";
import { Random } from "#kit/world/random.ts";

/** Ordinary events of every history. */
export const ORDINARY = ["deliver", "call", "time", "kubernetes", "etcd"] as const;
/** Faults. Each history has some of them. */
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
/** Faults only for histories with TLS. */
export const MISHAPS_OF_TLS = ["longAbsence", "lateSecrets"] as const;
/** Faults. The last one happens only in histories that lean to it: a random muted watch is rarely that of claims. */
export type Mishap = (typeof MISHAPS)[number] | (typeof MISHAPS_OF_TLS)[number] | "muteClaims";
export type Happening = (typeof ORDINARY)[number] | Mishap | PeoplesAct;

/** Faults that remain when all others are repaired. */
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

/** Versions that people may set as `spec.version`. New clusters get the last one. */
const VERSIONS = ["3.5.21", "3.5.35", "3.7.3", "3.6.17", "3.6.99", "3.6.16"] as const;

/** Settings of one history. Everything else follows from the seed. */
export interface Profile {
  readonly seed: number;
  readonly replicas: number;
  readonly hasLocalVolumes: boolean;
  readonly bindsLate: boolean;
  /** Whether etcd refuses what the real one refuses. If not, only the operator prevents it. */
  readonly hasStrictEtcd: boolean;
  /** Steps in which things may go wrong. */
  readonly steps: number;
  /** Whether the cluster is complete before the first fault. */
  readonly startsFormed: boolean;
  readonly weights: ReadonlyMap<Happening, number>;
  readonly callFaults: CallFaults;
  readonly obstacle: Obstacle;
  /** Versions that people may set as `spec.version`. */
  readonly versions: readonly string[];
  /** `spec.tls` of new clusters; undefined: none. */
  readonly tls: object | undefined;
  /** `spec.auth.enabled` of new clusters; undefined: no spec.auth. */
  readonly auth: boolean | undefined;
  /** Whether there are EtcdRoles and EtcdUsers. */
  readonly hasAccess: boolean;
  /** Whether people clean up after themselves at the end. */
  readonly isTidied: boolean;
  /** Number of other clusters at rest. */
  readonly othersAtRest: number;
}

/** Faults of the operator and of its connections, which remove no pod. */
const OF_THE_OPERATOR = ["crashOperator", "loseLease", "breakWatch", "expireWatch", "muteWatch"];

/** Whether only `kubectl drain` can remove a pod. People may still change the number of members. */
export function hasOnlyEvictions({ weights, obstacle }: Profile): boolean {
  const harmless: readonly string[] = [...ORDINARY, ...OF_THE_OPERATOR, "drain", "editReplicas"];
  return obstacle === "none" && [...weights.keys()].every((happening) => harmless.includes(happening));
}

/** Weights of ordinary events. */
const WEIGHTS: Readonly<Record<(typeof ORDINARY)[number], number>> = {
  deliver: 30,
  call: 25,
  time: 12,
  kubernetes: 30,
  etcd: 14,
};

/** Leans a profile towards something that is rare otherwise. */
export interface Leaning {
  /** Events that are always possible, with their weights. */
  readonly often?: Readonly<Partial<Record<Happening, number>>>;
  /** Disables all other faults. Calls fail only as `callFaults` states. */
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
  /** `spec.tls` of new clusters; `false`: none. */
  readonly tls?: object | false;
  readonly othersAtRest?: number;
  readonly auth?: boolean;
  /** Whether people create EtcdRoles and EtcdUsers. */
  readonly hasAccess?: boolean;
}

/** Certificate lifetimes of new clusters. Few histories last for hours, and clocks are wrong by up to two hours. */
const LIFE = { provider: "Operator", duration: "12h", renewBefore: "4h" } as const;
const NO_SIDE = { provider: "None" } as const;
const TLS: readonly object[] = [
  { peer: LIFE, client: LIFE },
  { peer: LIFE, client: LIFE },
  {},
  { peer: LIFE, client: { ...LIFE, clientCertificates: "NotRequired" } },
  { peer: NO_SIDE, client: LIFE },
  { peer: LIFE, client: NO_SIDE },
];
/** Number of other clusters with which clusters at rest are observed as rarely as possible. */
export const LARGE_FLEET = 1_000;
/** TLS settings with which members do not verify clients. With all others, half of the histories may use auth. */
const UNVERIFIED: readonly (object | undefined)[] = [undefined, TLS[3], TLS[5]];
const AUTH: readonly (boolean | undefined)[] = [true, true, true, false, undefined];
/** Share of histories with TLS. */
const TLS_SHARE = 0.25;
/** Share of histories with EtcdRoles and EtcdUsers. It is small because such histories take long to come to rest. */
const ACCESS_SHARE = 0.01;

/** Shortens the period of plaintext so that a history reaches its end. */
function soonOver(tls: object | undefined): object {
  const { peer = {}, client = {} } = (tls ?? { peer: NO_SIDE, client: NO_SIDE }) as { peer?: object; client?: object };
  return { peer, client: { ...client, plaintextFor: "20s" } };
}

/**
 * Profile of a seed. About half of all histories leave a given fault out: faults hide one another, and a history with
 * few of them gets further.
 */
export function profileOf(seed: number, leaning: Leaning = {}): Profile {
  const random = new Random(seed ^ 0x5eed);
  const weights = new Map<Happening, number>(Object.entries(WEIGHTS) as [Happening, number][]);
  const isCalm = random.chance(0.1) || leaning.onlyThat === true;
  for (const mishap of MISHAPS) if (!isCalm && random.chance(0.4)) weights.set(mishap, random.between(1, 3));
  const ofTheirOwn: readonly PeoplesAct[] = ["sleep", COPY, SWITCH, ...ACTS_OF_TLS, ...ACTS_OF_AUTH, ...ACTS_OF_ACCESS];
  for (const act of PEOPLES_ACTS.filter((each) => !ofTheirOwn.includes(each)))
    if (!isCalm && random.chance(0.3)) weights.set(act, random.between(1, 2));
  // A separate generator keeps other histories unchanged. Sleep is rare, because nothing else happens during it.
  if (!isCalm && new Random(seed ^ 0x51ee9).chance(0.1)) weights.set("sleep", 1);
  // A separate generator keeps other histories unchanged.
  const ofTls = new Random(seed ^ 0x715);
  const mayHave = ofTls.chance(TLS_SHARE) ? ofTls.pick(TLS) : undefined;
  const firstTls = leaning.tls === false ? undefined : (leaning.tls ?? mayHave);
  for (const happening of [...ACTS_OF_TLS, ...MISHAPS_OF_TLS])
    if (firstTls !== undefined && !isCalm && ofTls.chance(0.4)) weights.set(happening, 1);
  const ofAuth = new Random(seed ^ 0xa07);
  // Auth needs TLS towards clients.
  const isSwitched = leaning.often?.[SWITCH] !== undefined;
  const mayAsk = leaning.tls === undefined && !isSwitched && !UNVERIFIED.includes(firstTls) && ofAuth.chance(0.5);
  const auth = leaning.auth ?? (mayAsk ? AUTH[ofAuth.below(AUTH.length)] : undefined);
  for (const happening of ACTS_OF_AUTH) if (mayAsk && !isCalm && ofAuth.chance(0.5)) weights.set(happening, 1);
  // A separate generator keeps other histories unchanged.
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
