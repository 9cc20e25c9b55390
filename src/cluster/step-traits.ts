import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { MemberId } from "#etcd/types.ts";
import type { Draft, Pod } from "#kube/kinds.ts";
import type { AuthStep, ClusterStep } from "./step.ts";

// Why does each kind of step state its traits here?
//   Guards judge by traits, not by lists of kinds. A new kind without an entry does not compile, so no guard permits it by default
//   (decision 44). The types below also check each trait against the fields of the step: a kind that interrupts a member names it.

/** What guards need to know of a kind of step. */
export interface StepTraits {
  /**
   * What the step changes. Membership is the member list, or the fate of a member's claim, also where its EtcdPeer
   * records that. Data includes its format, and auth is users of etcd.
   */
  readonly changes: "kubernetes" | "membership" | "data" | "auth";
  /** Whether the step needs the linearizable member list: without it, etcd has no quorum that could permit the step. */
  readonly needsList: boolean;
  /**
   * Which members stop, or stop answering, because of the step. With `member` the named one, with `cluster` all. With
   * `peer` the one with the replaced EtcdPeer, when it restarts.
   */
  readonly interrupts: "nothing" | "member" | "peer" | "cluster";
  /** Whether the named member restarts in a new pod, with the current template of its EtcdPeer. */
  readonly remakesPod: boolean;
  /** Whether the step writes the template of a member: the spec of its EtcdPeer. */
  readonly writesPeer: boolean;
  /**
   * What happens to the member. comes: it is added. leaves: it is removed, or chosen for removal. gone: its EtcdPeer is
   * released or deleted.
   */
  readonly member: "stays" | "comes" | "leaves" | "gone";
  /** How the number of voters changes. A removed member may turn out to be a learner. */
  readonly votes: -1 | 0 | 1;
  /** founding: only before the identity of the cluster is on record. running: only afterwards. */
  readonly stage: "founding" | "running";
}

/** Traits that the fields of the step allow. */
type TraitsOf<Step> = StepTraits & {
  readonly changes: Step extends AuthStep ? "auth" : Exclude<StepTraits["changes"], "auth">;
  readonly interrupts:
    | "nothing"
    | "cluster"
    | (Step extends { readonly name: string } ? "member" : never)
    | (Step extends { readonly live: EtcdPeer } ? "peer" : never);
  readonly remakesPod: Step extends { readonly name: string; readonly pod: Pod } ? true : false;
  readonly writesPeer: Step extends { readonly peer: EtcdPeer }
    ? false
    : Step extends { readonly peer: Draft<EtcdPeer> }
      ? true
      : false;
  readonly member: Step extends { readonly peer: EtcdPeer } | { readonly name: string }
    ? StepTraits["member"]
    : "stays";
  readonly votes: 0 | (Step extends { readonly name: string; readonly id: MemberId } ? -1 | 1 : never);
};

/** An object of the cluster in Kubernetes: the write itself affects no member. */
const OBJECT = {
  changes: "kubernetes",
  needsList: false,
  interrupts: "nothing",
  remakesPod: false,
  writesPeer: false,
  member: "stays",
  votes: 0,
  stage: "running",
} as const;

const FOUNDING = { ...OBJECT, stage: "founding" } as const;
const PEER = { ...OBJECT, writesPeer: true } as const;
const MEMBERSHIP = { ...OBJECT, changes: "membership", needsList: true } as const;
const DATA = { ...OBJECT, changes: "data", needsList: true } as const;
const AUTH = { ...OBJECT, changes: "auth", needsList: true } as const;

/** The traits of each kind of step. */
export const STEP_TRAITS = {
  writeTls: FOUNDING,
  recordIdentity: FOUNDING,
  createRestore: FOUNDING,

  recordJoined: OBJECT,
  fallAsleep: { ...OBJECT, interrupts: "cluster" },
  wakeUp: OBJECT,
  createService: OBJECT,
  replaceService: OBJECT,
  createBudget: OBJECT,
  replaceBudget: OBJECT,
  deleteBudget: OBJECT,
  createNetworkPolicy: OBJECT,
  replaceNetworkPolicy: OBJECT,
  deleteNetworkPolicy: OBJECT,
  createMonitor: OBJECT,
  replaceMonitor: OBJECT,
  deleteMonitor: OBJECT,
  createBackup: OBJECT,
  stopUpdate: OBJECT,

  issueAuthority: OBJECT,
  rotateAuthority: OBJECT,
  issueLeaf: OBJECT,
  spreadTrust: OBJECT,
  publishClientSecret: OBJECT,
  createTrustMap: OBJECT,
  replaceTrustMap: OBJECT,
  createRequest: OBJECT,
  replaceRequest: OBJECT,

  createPeer: PEER,
  replacePeer: { ...PEER, interrupts: "peer" },
  restartPod: { ...OBJECT, needsList: true, interrupts: "member", remakesPod: true },

  addLearner: { ...MEMBERSHIP, member: "comes" },
  promote: { ...MEMBERSHIP, votes: 1 },
  updateMember: MEMBERSHIP,
  moveLeader: MEMBERSHIP,
  markRemoval: { ...MEMBERSHIP, member: "leaves" },
  removeMember: { ...MEMBERSHIP, member: "leaves", votes: -1 },
  releaseClaim: { ...MEMBERSHIP, member: "gone" },
  deletePeer: { ...MEMBERSHIP, member: "gone" },

  disarmAlarm: DATA,
  enableDowngrade: DATA,
  cancelDowngrade: DATA,

  createRootSecret: { ...AUTH, needsList: false }, // Only a Secret: etcd does not know the password yet.
  setRootPassword: AUTH,
  addUser: AUTH,
  grantRole: AUTH,
  enableAuth: AUTH,
  disableAuth: AUTH,
} as const satisfies { readonly [Kind in ClusterStep["do"]]: TraitsOf<Extract<ClusterStep, { do: Kind }>> };

/** The steps of kinds with this trait. */
export type StepWith<Trait extends keyof StepTraits, Value extends StepTraits[Trait]> = {
  readonly [Kind in ClusterStep["do"]]: (typeof STEP_TRAITS)[Kind][Trait] extends Value
    ? Extract<ClusterStep, { do: Kind }>
    : never;
}[ClusterStep["do"]];

/** Whether the kind of the step has the trait. The compiler then knows which fields the step has. */
export function hasTrait<Trait extends keyof StepTraits, const Value extends StepTraits[Trait]>(
  step: ClusterStep,
  trait: Trait,
  value: Value,
): step is StepWith<Trait, Value> {
  return (STEP_TRAITS[step.do] as StepTraits)[trait] === value;
}
