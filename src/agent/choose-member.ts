import type { OperatorError } from "#base/error.ts";
import type { SnapshotSource } from "#etcd/snapshot-source.ts";
import { type SourceFailure, sourceFailureOf } from "#etcd/source-failure.ts";
import { type EndpointStatus, hexOf } from "#etcd/types.ts";
import type { ContentSource } from "./content.ts";
import { AgentError } from "./error.ts";
import type { FailureReason } from "./report.ts";

/** Status of one endpoint, or why it could not be read. */
export type Answer = {
  readonly source: Pick<SnapshotSource, "address" | "status" | "revision" | "snapshot" | "changes"> & ContentSource;
} & ({ readonly status: EndpointStatus } | { readonly failed: OperatorError });

/** A member to read from. */
export type Member = Extract<Answer, { readonly status: unknown }>;

/**
 * Chooses the healthy follower with the highest applied index; the leader only when no follower is healthy, to spare
 * it. Learners are never read, since they may lag far behind. NOSPACE does not matter for reads.
 * @param clusterID required cluster ID, in hexadecimal; undefined: all must be of one cluster
 * @throws AgentError
 */
export function chooseMember(answers: readonly Answer[], clusterID: string | undefined): Member {
  const answering = answers.filter((answer): answer is Member => "status" in answer);
  const expected = clusterID ?? (answering[0] && clusterOf(answering[0]));
  // With a known cluster ID, a member of another cluster counts as not answering. Without one, two clusters are
  // ambiguous.
  const members = answering.filter((member) => clusterOf(member) === expected);
  if (members.length === 0) throw nobodyRight(answers, expected);
  const stranger = answering.find((member) => clusterID === undefined && clusterOf(member) !== expected);
  if (stranger !== undefined) throw strangerError(stranger, expected);
  const led = members.filter(({ status }) => status.leaderId !== undefined);
  if (led.length === 0) {
    throw new AgentError("NoQuorum", `no member knows a leader; asked were ${addresses(members)}`);
  }
  const voters = led.filter(({ status }) => !status.isLearner);
  if (voters.length === 0) {
    throw new AgentError("SourceUnreachable", `only learners answer, which are never read: ${addresses(led)}`);
  }
  const sound = voters.filter(({ status }) => !isCorrupt(status));
  const [best] = sound.toSorted((a, b) => rank(b) - rank(a) || b.status.raftAppliedIndex - a.status.raftAppliedIndex);
  if (best !== undefined) return best;
  const message = `etcd has raised the alarm CORRUPT for every member that answers: ${addresses(voters)}`;
  throw new AgentError("SnapshotCorrupt", message);
}

function rank({ status }: Member): number {
  return status.leaderId === status.memberId ? 0 : 1;
}

/** Whether the alarm CORRUPT names this member, or no member: then all are suspect. */
function isCorrupt({ alarms, memberId }: EndpointStatus): boolean {
  return alarms.some((alarm) => alarm.type === "CORRUPT" && (alarm.memberId ?? memberId) === memberId);
}

function clusterOf({ status }: Member): string {
  return hexOf(status.clusterId);
}

function strangerError(member: Member, expected: string | undefined): AgentError {
  const message = `${member.source.address} belongs to the cluster ${clusterOf(member)}, expected was ${expected}`;
  return new AgentError("WrongCluster", message);
}

function addresses(members: readonly Answer[]): string {
  return members.map(({ source }) => source.address).join(", ");
}

const REASONS: Readonly<Record<SourceFailure, FailureReason>> = {
  TLS: "SourceTLS",
  Auth: "SourceAuth",
  NoLeader: "NoQuorum",
  Unreachable: "SourceUnreachable",
};

/** Translates a failure of a source into a report's reason. */
export function sourceError(error: OperatorError): AgentError {
  return new AgentError(REASONS[sourceFailureOf(error)], error.message, { cause: error });
}

/**
 * Order of reported failures: those that a user must fix, then those that may pass. WrongCluster is last, since the
 * expected members may return.
 */
const FIRST: readonly FailureReason[] = ["SourceTLS", "SourceAuth", "NoQuorum", "SourceUnreachable", "WrongCluster"];

function nobodyRight(answers: readonly Answer[], expected: string | undefined): AgentError {
  const errors = answers.map((answer) =>
    "failed" in answer ? sourceError(answer.failed) : strangerError(answer, expected),
  );
  const reason = FIRST.find((first) => errors.some((error) => error.reason === first)) ?? "SourceUnreachable";
  return new AgentError(reason, errors.map(({ message }) => message).join("; "));
}
