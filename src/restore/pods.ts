import { type AgentReport, type FetchReport, type FinishReport, reportIn } from "#agent/report.ts";
import { BASE_CONTAINER, ETCDUTL_CONTAINER, FETCH_CONTAINER, FINISH_CONTAINER, REPLAY_CONTAINER } from "#api/names.ts";
import { endedAtMs, lastEnded, stateOf, workingPod } from "#backup/job-state.ts";
import type { Attempted } from "#backup/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";
import { whyNotRunning } from "#kube/pod.ts";
import { isOurs, isOwned, isStaying, type RestoredMember, type RestoreSnapshot } from "#restore/snapshot.ts";

// What the kubelet says of the containers of a restore's pod, which run one after another.

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

/** The Job by which this restore fills the claim, when it is there. */
export function fillingOf(snapshot: RestoreSnapshot, { filling }: RestoredMember): Attempted | undefined {
  return filling !== undefined && isOwned(snapshot, filling.job) ? filling : undefined;
}

/** Whether the member's claim is filled. */
export function isFilled(snapshot: RestoreSnapshot, member: RestoredMember): boolean {
  const filling = fillingOf(snapshot, member);
  return filling !== undefined && stateOf(filling.job) === "succeeded";
}

/** Whether the member's claim is filled, and is there to stay. */
export function isWhole(snapshot: RestoreSnapshot, member: RestoredMember): boolean {
  const { claim } = member;
  return isStaying(claim) && isOurs(snapshot, claim) && isFilled(snapshot, member);
}

export function containersOf({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** Whether one of its containers runs. */
export function isAtWork(pod: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined && containersOf(pod).some(({ state }) => state?.running !== undefined)
  );
}

/** What the agent of this container said when it ended last, in a pod that has ended. */
function reportOf({ pods }: Attempted, container: string): AgentReport | undefined {
  const pod = lastEnded(pods);
  return pod === undefined ? undefined : reportIn(wordsOf(pod, container));
}

/** What this container said when it ended. */
function wordsOf(pod: Pod, container: string): string {
  const status = containersOf(pod).find(({ name }) => name === container);
  return status?.state?.terminated?.message ?? status?.lastState?.terminated?.message ?? "";
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

/** Why the last attempt failed: by the agent's own word, or by etcdutl's. */
export function failureOf(filling: Attempted): { readonly reason: string; readonly message: string } | undefined {
  const pod = lastEnded(filling.pods);
  if (pod === undefined) return undefined;
  for (const container of [FETCH_CONTAINER, REPLAY_CONTAINER, FINISH_CONTAINER]) {
    const report = reportOf(filling, container);
    if (report?.ok === false) return report;
  }
  const tools = containersOf(pod).filter(({ name }) => [BASE_CONTAINER, ETCDUTL_CONTAINER].includes(name));
  const tool = tools.map(({ state }) => state?.terminated).find((end) => end !== undefined && end.exitCode !== 0);
  if (tool === undefined) return undefined;
  const words = tool.message?.trim();
  return {
    reason: "RestoreToolFailed",
    message: words || `etcdutl ended with exit code ${tool.exitCode} (${tool.reason})`,
  };
}

/** How a pod ended that left no report. */
export function endText(pod: Pod): string {
  return whyNotRunning(pod, FINISH_CONTAINER) ?? `pod ${pod.metadata.name} ended`;
}

/** How long after the end of a Job its pod's reports may still come, in milliseconds: by then every cache shows what was. */
const REPORT_MS = 60_000;

/** Whether the end of a Job that has failed is seen, and that of its pod is not yet: each is seen in its own time. */
export function isReportDue({ takenAtMs }: RestoreSnapshot, filling: Attempted): boolean {
  const isSeen = lastEnded(filling.pods) !== undefined && workingPod(filling) === undefined;
  return !isSeen && takenAtMs - endedAtMs(filling.job) < REPORT_MS;
}

/** Since when nothing of the Job runs, in milliseconds since 1970; `undefined` while a container does. */
export function idleSince(filling: Attempted): number | undefined {
  const { job, pods } = filling;
  const pod = workingPod(filling);
  if (pod !== undefined && isAtWork(pod)) return undefined;
  const times = [
    job.metadata.creationTimestamp,
    pod?.metadata.deletionTimestamp ?? pod?.metadata.creationTimestamp,
    ...pods.flatMap((each) => containersOf(each).map(({ state }) => state?.terminated?.finishedAt)),
  ];
  return Math.max(...times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)])));
}
