import { type FetchReport, type FinishReport, reportIn } from "#agent/report.ts";
import { BASE_CONTAINER, ETCDUTL_CONTAINER, FETCH_CONTAINER, FINISH_CONTAINER, REPLAY_CONTAINER } from "#api/names.ts";
import {
  isReportDue,
  lastEnded,
  reportedFailure,
  reportOf,
  stateOf,
  statusesOf,
  type Workers,
  wordsOf,
  workingPod,
} from "#backup/job-state.ts";
import type { Attempted } from "#backup/snapshot.ts";
import { isOurs, isOwned, isStaying, type RestoredMember, type RestoreSnapshot } from "#restore/snapshot.ts";

// What the kubelet says of the containers of a restore's pod, which run one after another.

/** Of the agent, in the order in which they run. */
const AGENTS: Workers = [FETCH_CONTAINER, REPLAY_CONTAINER, FINISH_CONTAINER];
/** Of etcdutl, of the cluster's own release. */
const TOOLS: Workers = [BASE_CONTAINER, ETCDUTL_CONTAINER];
/** Those that fill a claim; the last one ends the pod. The throw-away etcd beside them does nothing by itself. */
export const FILLERS: Workers = [
  FETCH_CONTAINER,
  BASE_CONTAINER,
  REPLAY_CONTAINER,
  ETCDUTL_CONTAINER,
  FINISH_CONTAINER,
];

/** The Job by which this restore fills the claim, when it is there. */
export function fillingOf(snapshot: RestoreSnapshot, { filling }: RestoredMember): Attempted | undefined {
  return filling !== undefined && isOwned(snapshot, filling.job) ? filling : undefined;
}

/** Whether the member's claim is filled. */
export function isFilled(snapshot: RestoreSnapshot, member: RestoredMember): boolean {
  const filling = fillingOf(snapshot, member);
  return filling !== undefined && stateOf(filling.job) === "succeeded";
}

/** Whether the member's claim is filled, it is told with what, or never will be, and it is there to stay. */
export function isWhole(snapshot: RestoreSnapshot, member: RestoredMember): boolean {
  const { claim } = member;
  const filling = fillingOf(snapshot, member);
  const isTold = filling !== undefined && isFilled(snapshot, member) && !isReportDue(snapshot, filling);
  return isStaying(claim) && isOurs(snapshot, claim) && isTold;
}

/** Which snapshot was brought, by the word of the agent that did: by the pod that ended well, or else by the one that is at work, or was last. */
export function broughtBy(filling: Attempted): FetchReport["snapshot"] | undefined {
  const ended = lastEnded(filling.pods);
  const pods = ended?.status?.phase === "Succeeded" ? [ended] : [workingPod(filling), ended];
  const reports = pods.map((pod) => pod && reportIn(wordsOf(pod, FETCH_CONTAINER)));
  return reports.find((report) => report?.ok === true && report.kind === "fetch")?.snapshot;
}

/** How the data came to its place, by the word of the agent that put it there. */
export function finishedBy(filling: Attempted): FinishReport | undefined {
  const report = reportOf(filling, FINISH_CONTAINER);
  return report?.ok === true && report.kind === "finish" ? report : undefined;
}

/** Of the snapshot that lies in the claim, by the word of the agent that put it there, or found it there: who fetched last may have brought another one. */
export function filledWith(filling: Attempted): string | undefined {
  return finishedBy(filling)?.sha256 ?? broughtBy(filling)?.sha256;
}

/** Why the last attempt failed: by the agent's own word, or by etcdutl's. */
export function failureOf(filling: Attempted): { readonly reason: string; readonly message: string } | undefined {
  const pod = lastEnded(filling.pods);
  if (pod === undefined) return undefined;
  const report = reportedFailure(filling, AGENTS);
  if (report !== undefined) return report;
  const tools = statusesOf(pod, TOOLS);
  const tool = tools.map(({ state }) => state?.terminated).find((end) => end !== undefined && end.exitCode !== 0);
  if (tool === undefined) return undefined;
  const words = tool.message?.trim();
  return {
    reason: "RestoreToolFailed",
    message: words || `etcdutl ended with exit code ${tool.exitCode} (${tool.reason})`,
  };
}
