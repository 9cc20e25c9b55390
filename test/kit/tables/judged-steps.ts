import type { ClusterStep } from "#cluster/step.ts";

/** Steps that create an object of the cluster. */
const MADE = ["identity-first"];
/** Steps that change or delete an object of the cluster. */
const CHANGED = ["identity-first", "own-only"];
/** Steps that change etcd. */
const IN_ETCD = ["identity-first", "need-member-list"];
const IN_ETCD_AWAKE = [...IN_ETCD, "sleep-keeps-members"];
const AUTH = [...IN_ETCD, "auth-is-asked"];
/** Steps that decide with which settings a member runs. */
const GIVEN = [
  "identity-first",
  "bootstrap-once",
  "runnable-only",
  "sleep-keeps-members",
  "version-path",
  "downgrade-enabled",
  "one-at-a-time",
  "tls-stepwise",
  "allowed-secrets",
  "login-stays",
];
const LEAVING = ["one-at-a-time", "no-sign-of-life", "dying-claim-is-held"];

/** Guards that judge one or several kinds of step, by kind. */
const OWN: { readonly [Kind in ClusterStep["do"]]: readonly string[] } = {
  writeTls: ["identity-first", "tls-is-decided"],
  recordIdentity: ["identity-first", "tls-is-decided", "restored-first", "sleep-keeps-members"],
  createRestore: ["identity-first", "tls-is-decided"],
  recordJoined: ["identity-first", "joined-is-seen"],
  fallAsleep: ["identity-first", "sleep-is-asked", "dying-claim-is-held"],
  wakeUp: ["identity-first", "sleep-is-asked"],
  createService: MADE,
  replaceService: CHANGED,
  createBudget: MADE,
  replaceBudget: CHANGED,
  deleteBudget: CHANGED,
  createNetworkPolicy: MADE,
  replaceNetworkPolicy: CHANGED,
  deleteNetworkPolicy: CHANGED,
  createMonitor: MADE,
  replaceMonitor: CHANGED,
  deleteMonitor: CHANGED,
  createBackup: MADE,
  stopUpdate: MADE,
  issueAuthority: ["identity-first", "authority-kept"],
  rotateAuthority: [...CHANGED, "authority-kept", "trusted-first"],
  issueLeaf: [...CHANGED, "trusted-first"],
  spreadTrust: [...CHANGED, "trust-kept"],
  publishClientSecret: [...CHANGED, "trusted-first"],
  createTrustMap: MADE,
  replaceTrustMap: CHANGED,
  createRequest: MADE,
  replaceRequest: CHANGED,
  createPeer: GIVEN,
  replacePeer: [
    ...GIVEN,
    "restart-keeps-quorum",
    "certificate-is-trusted",
    "members-trust-each-other",
    "trust-kept",
    "own-only",
  ],
  restartPod: [
    ...IN_ETCD,
    "restart-keeps-quorum",
    "version-path",
    "downgrade-enabled",
    "one-at-a-time",
    "dying-claim-is-held",
    "tls-stepwise",
    "certificate-is-trusted",
    "members-trust-each-other",
  ],
  addLearner: [...IN_ETCD_AWAKE, "one-at-a-time"],
  promote: [...IN_ETCD_AWAKE, "keep-quorum", "fence-before-vote"],
  updateMember: [...IN_ETCD_AWAKE, "tls-stepwise"],
  moveLeader: IN_ETCD_AWAKE,
  markRemoval: [...IN_ETCD_AWAKE, ...LEAVING, "asked-to-delete", "members-trust-each-other", "own-only"],
  removeMember: [...IN_ETCD_AWAKE, ...LEAVING, "asked-to-delete", "keep-quorum"],
  releaseClaim: [...IN_ETCD_AWAKE, "not-a-member", "asked-to-delete", "own-only"],
  deletePeer: [...IN_ETCD_AWAKE, "not-a-member", "own-only"],
  disarmAlarm: [...IN_ETCD_AWAKE, "alarm-is-over"],
  enableDowngrade: IN_ETCD_AWAKE,
  cancelDowngrade: IN_ETCD_AWAKE,
  createRootSecret: ["identity-first", "auth-is-asked"],
  setRootPassword: AUTH,
  addUser: AUTH,
  grantRole: AUTH,
  enableAuth: [...AUTH, "administrator-first"],
  disableAuth: AUTH,
};

/** Guards that judge every kind: a cluster with the identity of another place makes no step. */
const EACH = ["identity-is-here"];

/**
 * Guards that judge each kind of step; every other guard permits it in any snapshot. Written by hand, not derived from
 * the traits: a new kind is judged by no guard until a person lists it.
 */
export const JUDGED_BY = Object.fromEntries(
  Object.entries(OWN).map(([kind, guards]) => [kind, [...EACH, ...guards]]),
) as unknown as { readonly [Kind in ClusterStep["do"]]: readonly string[] };
