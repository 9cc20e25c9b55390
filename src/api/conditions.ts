// Where do people read these sentences?
//   In `kubectl explain etcdcluster.status.conditions.reason` and in docs/reference/conditions.md. Both are generated from here.

/** Every condition of an EtcdCluster, with the question that it answers. */
export const CONDITION_TYPES = {
  Ready: "Is everything that the spec asks for there and healthy, so that the client Service leads to every member?",
  Available: "Do linearizable reads and writes succeed?",
  Progressing: "Is the operator changing something, or waiting to?",
  Degraded: "Is the cluster working with less than the spec asks for?",
  Paused: "Has a person asked the operator to change nothing? The condition is there once somebody has.",
  ClusterIDMismatch:
    "Does a member answer with the ID of another cluster, or of another member? The condition is there once one has.",
} as const;

/** Every condition of an EtcdPeer, with the question that it answers. */
export const PEER_CONDITION_TYPES = {
  Ready: "Does the member's pod run, and does the member answer?",
} as const;

const SHARED_REASONS = {
  Waiting: "The operator waits; the message says for what, and which rule or guard holds it.",
  StepRefused:
    "A change that the operator wants to make is refused or undone; the message says which one, and by whom.",
  NameTaken: "An object that the operator needs exists already and belongs to somebody else; it is never taken over.",
  ClaimTaken: "A claim of the name that a member needs holds other data than the member's; it is never overwritten.",
  Deleting: "The object is being deleted; the claims of a cluster that is deleted are kept.",
} as const;

/** Every reason that a condition of an EtcdCluster may have. The sentence is what people read of it. */
export const REASONS = {
  AllMembersHealthy:
    "Every wanted member is a healthy voter with a ready pod, and a client was served through the client Service.",
  Forming: "The cluster is being created; no majority of its first members has joined yet.",
  MembersMissing: "There are fewer voters than the spec asks for: a lost one is gone, or more are wanted than before.",
  MembersUnhealthy: "Some members do not serve clients or have no leader; the message names them.",
  PodsNotReady: "Every member is healthy, and the client Service does not lead to some of them yet.",
  QuorumAvailable: "The members were listed with a linearizable read, so a majority of them works.",
  QuorumLost: "Fewer members answer than a majority; the operator touches no data until enough of them return.",
  MembersUnreachable: "The operator could not ask the members, though their pods are ready: it does not know.",
  CorruptionAlarm: "etcd has raised the alarm CORRUPT: until the member is replaced, it refuses every read and write.",
  NoSpaceAlarm:
    "etcd has raised the alarm NOSPACE: it refuses every write until its database is smaller than its quota.",
  Settled: "There is nothing to do.",
  Acting: "The operator makes the change that the message names.",
  Scaling: "Members are being added or removed, one at a time.",
  Replacing: "A member that is lost or could not start is being replaced.",
  Paused:
    "By spec.paused or the annotation etcd.improbable.io/paused: the operator looks and tells, and changes nothing.",
  NotPaused:
    "Neither spec.paused nor the annotation etcd.improbable.io/paused pauses any more: the operator acts again.",
  ClientServiceSilent: "Every member is healthy, and whoever connects through the client Service is not answered yet.",
  Rolling: "Members are being restarted, one after another, with what the spec asks for.",
  UpdateStopped:
    "The first member that was restarted with what the spec asks for did not become healthy, and was put back; the message says why.",
  NoVersionPath: "Members cannot go to spec.version from what they run; the message says what to do instead.",
  SpecRefused:
    "The spec asks for what no member could run; the message names the field, what it is and what it may be. Members keep what they have.",
  OtherClusterAnswered: "A member answered with the ID of another cluster or member; it is not believed.",
  SameCluster: "No member answers with the ID of another cluster or member any more.",
  FullStrength: "No member is missing.",
  ...SHARED_REASONS,
} as const;

/** Every reason that a condition of an EtcdPeer may have. */
export const PEER_REASONS = {
  MemberHealthy: "The member's pod is ready, and the member answers.",
  MemberUnreachable: "The member's pod is ready, but the member gave the operator no answer.",
  PodPending: "The member's pod does not run or is not ready; the message says why.",
  ClaimLost: "The claim with the member's data is gone; the member is replaced once it is found to be lost.",
  ...SHARED_REASONS,
} as const;

export type ConditionType = keyof typeof CONDITION_TYPES;
export type Reason = keyof typeof REASONS;
export type PeerReason = keyof typeof PEER_REASONS;
