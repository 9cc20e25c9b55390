import type { OperatorError } from "#base/error.ts";
import type { SnapshotSource } from "#etcd/snapshot-source.ts";
import { type SourceFailure, sourceFailureOf } from "#etcd/source-failure.ts";
import { type EndpointStatus, hexOf } from "#etcd/types.ts";
import { AgentError } from "./error.ts";
import type { FailureReason } from "./report.ts";

/** What came of asking one endpoint. */
export type Answer = { readonly source: Pick<SnapshotSource, "address" | "revision" | "snapshot"> } & (
  | { readonly status: EndpointStatus }
  | { readonly failed: OperatorError }
);

/** A member to read from. */
export type Member = Extract<Answer, { readonly status: unknown }>;

/**
 * The healthy follower that has applied most; the leader only when no follower is healthy, since it has enough to do.
 * A learner is never read: it may be far behind, and nobody counts on it. NOSPACE does not matter, since nothing is written.
 * @param clusterID whose members they must be, in hexadecimal; undefined: of one and the same, whichever it is
 * @throws AgentError
 */
export function chooseMember(answers: readonly Answer[], clusterID: string | undefined): Member {
  const members = answers.filter((answer): answer is Member => "status" in answer);
  if (members.length === 0) throw nobodyAnswers(answers);
  checkCluster(members, clusterID);
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

/** An alarm without a member means that nobody knows whose data is right. */
function isCorrupt({ alarms, memberId }: EndpointStatus): boolean {
  return alarms.some((alarm) => alarm.type === "CORRUPT" && (alarm.memberId ?? memberId) === memberId);
}

function checkCluster(members: readonly Member[], clusterID: string | undefined): void {
  const [first] = members;
  const expected = clusterID ?? (first === undefined ? "" : hexOf(first.status.clusterId));
  const stranger = members.find(({ status }) => hexOf(status.clusterId) !== expected);
  if (stranger === undefined) return;
  const { source, status } = stranger;
  throw new AgentError(
    "WrongCluster",
    `${source.address} belongs to the cluster ${hexOf(status.clusterId)}, expected was ${expected}`,
  );
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

/** What a source's failure is in a report. */
export function sourceError(error: OperatorError): AgentError {
  return new AgentError(REASONS[sourceFailureOf(error)], error.message, { cause: error });
}

/** What a person has to mend is named before what may pass by itself. */
const FIRST: readonly FailureReason[] = ["SourceTLS", "SourceAuth", "NoQuorum"];

function nobodyAnswers(answers: readonly Answer[]): AgentError {
  const errors = answers.flatMap((answer) => ("failed" in answer ? [sourceError(answer.failed)] : []));
  const reason = FIRST.find((first) => errors.some((error) => error.reason === first)) ?? "SourceUnreachable";
  return new AgentError(reason, errors.map(({ message }) => message).join("; "));
}
