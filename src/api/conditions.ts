/** Every condition type that the operator sets, with the question that it answers. */
export const CONDITION_TYPES = {
  Ready: "Is everything that the spec asks for there and healthy?",
  Available: "Do linearizable reads and writes succeed?",
  Progressing: "Is the operator changing something, or waiting to?",
  Degraded: "Is the cluster working with less than the spec asks for?",
  Paused: "Has a person asked the operator to change nothing?",
  ClusterIDMismatch: "Does a member answer with the ID of another cluster?",
} as const;

/** Every reason that a condition may have, with the one sentence that is also its documentation. */
export const REASONS = {
  AllMembersHealthy: "Every wanted member is a voter, answers, and follows a leader.",
  Forming: "The cluster is being created; members of its first, frozen list are still to join.",
  MembersUnhealthy: "Some members do not serve clients or have no leader; the message names them.",
  QuorumAvailable: "A linearizable read succeeded.",
  QuorumLost: "Fewer members answer than a majority; the operator touches nothing until enough of them return.",
  CorruptionAlarm: "etcd has raised the alarm CORRUPT: until the member is replaced, it refuses every read and write.",
  NoSpaceAlarm:
    "etcd has raised the alarm NOSPACE: it refuses every write until its database is smaller than its quota.",
  MembersUnreachable: "No member could be asked; it is not known whether the cluster works.",
  Settled: "There is nothing to do.",
  Acting: "The operator is about to make the change that the message names.",
  Waiting: "The operator waits; the message says for what and which rule or guard holds it.",
  Scaling: "Members are being added or removed, one at a time.",
  Replacing: "A member that is lost is being replaced.",
  Paused: "The annotation etcd.improbable.io/paused is set: the operator looks and tells, and changes nothing.",
  NotPaused: "The operator acts: nobody has asked it to change nothing.",
  StepRefused: "A change that the operator wants to make is refused or undone; the message says which, and by whom.",
  PodsNotReady: "Every member is healthy, and the client Service does not lead to some of them yet.",
  UpgradeNotSupported: "spec.version was changed; this version of the operator does not change the version of members.",
  NameTaken: "An object that the operator needs exists already and belongs to somebody else; it is never taken over.",
  ClaimTaken: "A claim of the name that a member needs holds the data of another cluster; it is never overwritten.",
  ClaimLost: "The claim with the member's data is gone; the member is replaced when it does not run any more.",
  Deleting: "The object is being deleted; claims are kept.",
  OtherClusterAnswered: "A member answered with the ID of another cluster; it is not believed.",
  SameCluster: "Every member that answers has the recorded cluster ID.",
  FullStrength: "No member is missing.",
  PodPending: "The member's pod does not run yet; the message says why.",
  MemberHealthy: "The member answers and follows a leader.",
  MemberUnreachable: "The member's pod runs, but the member does not answer.",
  Starting: "The member's objects are being made.",
} as const;

export type ConditionType = keyof typeof CONDITION_TYPES;
export type Reason = keyof typeof REASONS;
