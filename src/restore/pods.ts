import { type FetchReport, type FinishReport, reportIn } from "#agent/report.ts";
import type { Attempted } from "#agent-job/job-state.ts";
import {
  hasSucceeded,
  isReportDue,
  lastEnded,
  reportedFailure,
  reportOf,
  stateOf,
  statusesOf,
  type Workers,
  wordsOf,
  workingPod,
} from "#agent-job/job-state.ts";
import { BASE_CONTAINER, ETCDUTL_CONTAINER, FETCH_CONTAINER, FINISH_CONTAINER, REPLAY_CONTAINER } from "#api/names.ts";
import { lastLine } from "#kube/words.ts";
import { isOurs, isOwned, isStaying, type RestoredMember, type RestoreSnapshot } from "#restore/snapshot.ts";

// Container states of a restore's pod; the containers run one after another.

/** Containers of the agent, in the order in which they run. */
const AGENTS: Workers = [FETCH_CONTAINER, REPLAY_CONTAINER, FINISH_CONTAINER];
/** Containers of etcdutl, from the cluster's own release. */
const TOOLS: Workers = [BASE_CONTAINER, ETCDUTL_CONTAINER];
/** Containers that fill a claim; the pod ends with the last one. The throw-away etcd beside them is not one of them. */
export const FILLERS: Workers = [
  FETCH_CONTAINER,
  BASE_CONTAINER,
  REPLAY_CONTAINER,
  ETCDUTL_CONTAINER,
  FINISH_CONTAINER,
];

/** The Job of this restore that fills the claim, if it exists. */
export function fillingOf(snapshot: RestoreSnapshot, { filling }: RestoredMember): Attempted | undefined {
  return filling !== undefined && isOwned(snapshot, filling.job) ? filling : undefined;
}

/** The Jobs of this restore, in the order of the members. */
export function fillingsOf(snapshot: RestoreSnapshot): readonly Attempted[] {
  return snapshot.members.flatMap((member) => fillingOf(snapshot, member) ?? []);
}

/** Whether the member's claim is filled. */
export function isFilled(snapshot: RestoreSnapshot, member: RestoredMember): boolean {
  const filling = fillingOf(snapshot, member);
  return filling !== undefined && stateOf(filling) === "succeeded";
}

/** Whether the claim is filled and stays, and the Job's report is known or is no longer awaited. */
export function isWhole(snapshot: RestoreSnapshot, member: RestoredMember): boolean {
  const { claim } = member;
  const filling = fillingOf(snapshot, member);
  const isIdentified = filling !== undefined && isFilled(snapshot, member) && !isReportDue(snapshot, filling);
  return isStaying(claim) && isOurs(snapshot, claim) && isIdentified;
}

/**
 * The snapshot that was fetched, as the agent reported it: by the pod that succeeded, else the running pod, else the
 * last one.
 */
export function broughtBy(filling: Attempted): FetchReport["snapshot"] | undefined {
  const ended = lastEnded(filling.pods);
  const pods = ended !== undefined && hasSucceeded(ended) ? [ended] : [workingPod(filling), ended];
  const reports = pods.map((pod) => pod && reportIn(wordsOf(pod, FETCH_CONTAINER)));
  return reports.find((report) => report?.ok === true && report.kind === "fetch")?.snapshot;
}

/** How the data was moved into place, as the last container reported it. */
export function finishedBy(filling: Attempted): FinishReport | undefined {
  const report = reportOf(filling, FINISH_CONTAINER);
  return report?.ok === true && report.kind === "finish" ? report : undefined;
}

/**
 * SHA-256 of the snapshot in the claim, as reported by the agent that moved it there or found it there. The last fetch
 * may have read another object.
 */
export function filledWith(filling: Attempted): string | undefined {
  return finishedBy(filling)?.sha256 ?? broughtBy(filling)?.sha256;
}

/** Why the last attempt failed, from the report of the agent or the output of etcdutl. */
export function failureOf(filling: Attempted): { readonly reason: string; readonly message: string } | undefined {
  const pod = lastEnded(filling.pods);
  if (pod === undefined) return undefined;
  const report = reportedFailure(filling, AGENTS);
  if (report !== undefined) return report;
  const tools = statusesOf(pod, TOOLS);
  const tool = tools.map(({ state }) => state?.terminated).find((end) => end !== undefined && end.exitCode !== 0);
  if (tool === undefined) return undefined;
  const words = lastLine(tool.message ?? "");
  return {
    reason: "RestoreToolFailed",
    message: words ?? `etcdutl ended with exit code ${tool.exitCode} (${tool.reason})`,
  };
}
