import { setTimeout } from "node:timers/promises";
import { ETCD_CONTAINER, memberSelector, PEER_LABEL, selectorText } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { PODS, type Pod } from "#kube/kinds.ts";
import { UsageError } from "../arguments.ts";
import { type Context, type Run, writeLines } from "../context.ts";
import { whyNot } from "../read.ts";
import { type LogLine, logLines, logScreenLine, mergedByTime } from "../screens/logs.ts";
import { clean } from "../text.ts";

/** Lines of each member without --since. */
const TAIL = 50;
/** Bytes of one answer: enough for hours of etcd's log, and below what the client reads. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Pause between two reads with -f. */
const PAUSE_MS = 1_000;
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Logs of all members, merged by time. Reads only the container of etcd, so sidecars are left out. */
export const logs: Run = async (context) => {
  const isFollowing = context.input.given.has("follow");
  const since = secondsIn("since", context.input.texts.since);
  /** Time of the last line that was shown, by pod. */
  const shownTo = new Map<string, string>();
  do {
    const pods = await podsOf(context);
    if (pods.length === 0 && !isFollowing)
      throw new OperatorError("KubeNotFound", `EtcdCluster ${context.input.names[0]} has no pods in this namespace.`);
    const lines = await Promise.all(pods.map((pod) => linesOf(context, pod, since, shownTo)));
    const width = Math.max(0, ...pods.map((pod) => memberOf(pod).length));
    writeLines(
      context,
      mergedByTime(lines.flat()).map((line) => logScreenLine(line, width)),
      Number.POSITIVE_INFINITY,
    );
    if (isFollowing) await setTimeout(PAUSE_MS, undefined, { signal: context.signal }).catch(() => undefined);
  } while (isFollowing && !context.signal.aborted);
  return 0;
};

async function podsOf(context: Context): Promise<readonly Pod[]> {
  const { client, namespace } = context.connect();
  const labelSelector = selectorText(memberSelector(context.input.names[0] ?? ""));
  const { items } = await client.list(PODS, { namespace, labelSelector }, { signal: context.signal });
  return items;
}

async function linesOf(
  context: Context,
  pod: Pod,
  since: number | undefined,
  shownTo: Map<string, string>,
): Promise<readonly LogLine[]> {
  const { client } = context.connect();
  const { uid, name, namespace } = pod.metadata;
  const last = shownTo.get(uid);
  const query = new URLSearchParams({ container: ETCD_CONTAINER, timestamps: "true", limitBytes: String(MOST_BYTES) });
  if (last !== undefined) query.set("sinceTime", last);
  else if (since !== undefined) query.set("sinceSeconds", String(since));
  else query.set("tailLines", String(TAIL));
  try {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log?${query}`;
    const text = await client.raw("GET", path, { signal: context.signal });
    const lines = logLines(memberOf(pod), text).filter(({ time }) => last === undefined || time > last);
    shownTo.set(uid, lines.at(-1)?.time ?? last ?? new Date(context.nowMs()).toISOString().replace("Z", "000000Z"));
    return lines;
  } catch (thrown) {
    // A container that has not started yet has no log; a pod may be deleted between two reads.
    if (last === undefined && !context.signal.aborted) context.warn(`${memberOf(pod)}: no log: ${whyNot(thrown)}\n`);
    shownTo.set(uid, last ?? new Date(0).toISOString());
    return [];
  }
}

function memberOf({ metadata }: Pod): string {
  return clean(metadata.labels?.[PEER_LABEL] ?? metadata.name, 60);
}

/** Seconds in the value of a flag, such as 90s, 10m or 2h. @throws UsageError that names the flag */
export function secondsIn(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (UNITS[unit ?? ""] ?? 0);
  if (!(seconds > 0))
    throw new UsageError(`--${flag} is ${JSON.stringify(clean(text, 60))}; it must be a time such as 90s, 10m or 2h.`);
  return seconds;
}
