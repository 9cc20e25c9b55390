import { setTimeout } from "node:timers/promises";
import { METRICS_PORT, memberSelector, PEER_LABEL, selectorText } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { missingRight } from "#kube/error.ts";
import { PODS } from "#kube/kinds.ts";
import { UsageError } from "../arguments.ts";
import { type Context, isValue, outputOf, type Run, writeLines, writeValue } from "../context.ts";
import { itemsAt, nameOf, textAt, type Values } from "../fields.ts";
import { type Checked, type CheckedMember, checkState, type Unread } from "../findings.ts";
import { ETCD_CLUSTERS } from "../kinds.ts";
import { Reader, whyNot } from "../read.ts";
import { type Reading, readingOf, speedOf } from "../reading.ts";
import { checkAsValue, checkScreen } from "../screens/check.ts";
import { MOST_MEMBERS } from "../screens/members.ts";
import { STATUS_WIDTH } from "../screens/status.ts";
import { EXIT_CODES, stateOf } from "../verdict.ts";
import { must } from "./act.ts";
import { secondsIn } from "./logs.ts";

/** Seconds between the two readings by default: enough for fifty commits of a busy member, and short for a person. */
const WINDOW_S = 10;
/** Longest window in seconds. A longer one shows no more than since the start of the member. */
const MOST_WINDOW_S = 3_600;
/** Longest answer in bytes. etcd's have 170 kB; a larger bound costs time for a hostile member's answer. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Time for one answer, in milliseconds: etcd answers at once, and a person waits. */
const WITHIN_MS = 5_000;
/** Characters of a refusal in which the missing right is searched; `whyNot` would cut long names of accounts. */
const MOST_MESSAGE = 2_000;

/** A member of the status, with its pod; the name of the pod is "" without one. */
interface Addressed {
  readonly name: string;
  readonly id: string;
  readonly role: string;
  readonly pod: string;
  readonly node: string;
}
type Answer = { readonly reading: Reading } | { readonly unread: Unread };

/** Reads the metrics of each member twice, and judges what happened in between. */
export const check: Run = async (context) =>
  await checked(context, async (ms) => await setTimeout(ms, undefined, { signal: context.signal }));

/** @param wait between the two readings */
export async function checked(context: Context, wait: (ms: number) => Promise<unknown>): Promise<number> {
  const seconds = windowOf(context.input.texts.for);
  const name = context.input.names[0] ?? "";
  const cluster = await must(context, ETCD_CLUSTERS, name);
  const members = itemsAt(cluster, "status", "members");
  const isAsleep = stateOf(cluster) === "asleep";
  const addressed = isAsleep ? [] : await addressesOf(context, name, members.slice(0, MOST_MEMBERS));
  const before = await answersOf(context, addressed);
  if (before.some((each) => "reading" in each)) {
    if (context.isTerminal) context.warn(`Measuring for ${seconds} s…\n`);
    await wait(seconds * 1_000);
  }
  const after = await answersOf(context, addressed, before);
  const picture: Checked = {
    nowMs: context.nowMs(),
    cluster,
    seconds,
    members: addressed.map((each, n) => judged(each, before[n], after[n])),
    left: isAsleep ? 0 : Math.max(0, members.length - MOST_MEMBERS),
  };
  if (isValue(context)) await writeValue(context, checkAsValue(picture));
  else writeLines(context, checkScreen(picture), outputOf(context) === "wide" ? undefined : STATUS_WIDTH);
  return EXIT_CODES[checkState(picture)];
}

/** @throws UsageError */
function windowOf(text: string | undefined): number {
  const seconds = secondsIn("for", text) ?? WINDOW_S;
  if (seconds > MOST_WINDOW_S) throw new UsageError(`--for is ${seconds} s; it must be at most ${MOST_WINDOW_S} s.`);
  return seconds;
}

/** @throws OperatorError when the pods cannot be listed */
async function addressesOf(context: Context, name: string, members: readonly Values[]): Promise<readonly Addressed[]> {
  if (members.length === 0) return [];
  const { client, namespace } = context.connect();
  const labelSelector = selectorText(memberSelector(name));
  const pods = await new Reader(client, context.signal).many(PODS, { namespace, labelSelector });
  if (pods.is !== "present")
    throw new OperatorError(
      "KubeUnavailable",
      `The pods of EtcdCluster ${name} cannot be read: ${pods.is === "unknown" ? pods.why : "they are not served"}`,
    );
  const isWide = outputOf(context) !== undefined;
  return members.map((member) => {
    const own = pods.value.filter((pod) => textAt(pod, "metadata", "labels", PEER_LABEL) === textAt(member, "name"));
    const pod = own.find((each) => textAt(each, "metadata", "deletionTimestamp") === "");
    return {
      name: textAt(member, "name"),
      id: textAt(member, "id"),
      role: textAt(member, "role"),
      pod: nameOf(pod),
      node: isWide ? textAt(pod, "spec", "nodeName") : "",
    };
  });
}

/** The answers of all members, in their order. @param before a member that did not answer then is not asked again */
async function answersOf(
  context: Context,
  members: readonly Addressed[],
  before: readonly Answer[] = [],
): Promise<readonly Answer[]> {
  return await Promise.all(
    members.map(async (member, n) => {
      const earlier = before[n];
      return earlier !== undefined && "unread" in earlier ? earlier : await answerOf(context, member);
    }),
  );
}

async function answerOf(context: Context, { id, pod }: Addressed): Promise<Answer> {
  if (pod === "") return unread("it has no pod");
  const { client, namespace } = context.connect();
  const to = `${encodeURIComponent(pod)}:${METRICS_PORT}`;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${to}/proxy/metrics`;
  const options = { signal: context.signal, deadlineMs: WITHIN_MS, mostBytes: MOST_BYTES, repeat: "once" } as const;
  try {
    const reading = readingOf(await client.raw("GET", path, options));
    if (reading.memberId === undefined) return unread("the answer is not that of an etcd");
    if (id !== "" && reading.memberId !== id)
      return unread(`these are metrics of member ${reading.memberId.slice(0, 16)}, not ${id}`);
    return { reading };
  } catch (thrown) {
    const why = whyNot(thrown);
    const right = missingRight((thrown as Error).message.slice(0, MOST_MESSAGE));
    return right?.resource === "pods/proxy"
      ? unread(`the right ${right.verb} pods/proxy in namespace ${namespace} is missing`, true)
      : unread(why.replace(`GET ${path}: `, ""));
  }
}

function unread(why: string, isRightMissing = false): { readonly unread: Unread } {
  return { unread: { why, isRightMissing } };
}

function judged(member: Addressed, before: Answer | undefined, after: Answer | undefined): CheckedMember {
  const { name, id, role, node } = member;
  const earlier = before !== undefined && "reading" in before ? before.reading : undefined;
  const found =
    after === undefined || "unread" in after
      ? { unread: after?.unread ?? unread("it was not asked").unread }
      : { speed: speedOf(earlier, after.reading) };
  return { name, id, role, node, found };
}
