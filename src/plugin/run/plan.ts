import { setTimeout } from "node:timers/promises";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { UsageError } from "../arguments.ts";
import { type Context, isValue, type Run, writeLines, writeValue } from "../context.ts";
import { editOf } from "../edits.ts";
import { at, textAt, type Values } from "../fields.ts";
import { fileOf } from "../file.ts";
import { ETCD_CLUSTERS } from "../kinds.ts";
import { planExitCode, planScreen } from "../screens/plan.ts";

/** Pause between two looks for the answer. The operator answers within seconds of the annotation. */
const LOOK_EVERY_MS = 500;
/** Time to wait for the answer by default, in seconds: the operator answers at the latest every half minute. */
const WAIT_S = 60;
/** Characters of the edit that the answer repeats. */
const REPEATED = 1_000;
/** Path of the annotation in a JSON patch. */
const PATH = `/metadata/annotations/${DRY_RUN_ANNOTATION.replace("/", "~1")}`;

/** Asks the operator what an edit would cause, and takes the question back, whatever happens. */
export const plan: Run = async (context) => {
  const { texts, names } = context.input;
  const edit = editOf(await fileOf(texts.filename), texts.version, texts.replicas);
  if (typeof edit === "string") throw new UsageError(edit);
  const { client, namespace } = context.connect();
  const { signal } = context;
  const ref = { namespace, name: names[0] ?? "" };
  const cluster = (await client.get(ETCD_CLUSTERS, ref, { signal })) as unknown as Values;
  if (at(cluster, "metadata", "annotations", DRY_RUN_ANNOTATION) !== undefined)
    throw new UsageError(
      `EtcdCluster ${ref.name} has the annotation ${DRY_RUN_ANNOTATION} already: another plan is asked for.`,
    );
  const question = JSON.stringify(edit);
  const annotations = { [DRY_RUN_ANNOTATION]: question };
  const { resourceVersion } = cluster.metadata as { resourceVersion: string };
  await client.patch(
    ETCD_CLUSTERS,
    ref,
    { metadata: { annotations } },
    { type: "merge", signal, preconditions: { resourceVersion } },
  );
  try {
    const answer = await answerTo(context, question, Number(texts.timeout ?? WAIT_S));
    if (isValue(context)) await writeValue(context, answer);
    else writeLines(context, planScreen(answer));
    return planExitCode(answer);
  } finally {
    const patch = [
      { op: "test", path: PATH, value: question },
      { op: "remove", path: PATH },
    ] as const;
    await client
      .patch(ETCD_CLUSTERS, ref, patch, { type: "json", signal: AbortSignal.timeout(10_000) })
      .catch((thrown) => {
        // The annotation is not ours any longer.
        if (!hasCode(thrown, "KubeInvalid", "KubeConflict", "KubeNotFound"))
          context.warn(`The annotation ${DRY_RUN_ANNOTATION} could not be removed: ${(thrown as Error).message}\n`);
      });
  }
};

async function answerTo(context: Context, question: string, seconds: number): Promise<Values> {
  const { client, namespace } = context.connect();
  const { signal, input } = context;
  const name = input.names[0] ?? "";
  if (!(seconds > 0 && seconds <= 3_600)) throw new UsageError("--timeout must be a number of seconds up to 3600.");
  const endMs = context.nowMs() + seconds * 1000;
  while (context.nowMs() < endMs) {
    const cluster = await client.get(ETCD_CLUSTERS, { namespace, name }, { signal });
    const answer = at(cluster, "status", "dryRun");
    if (answer !== undefined && textAt(answer, "edit").slice(0, 80) === beginningOf(question)) return answer as Values;
    await setTimeout(LOOK_EVERY_MS, undefined, { signal });
  }
  throw new OperatorError(
    "KubeUnavailable",
    `The operator has not answered within ${seconds} s: is it running, and does it manage EtcdCluster ${name}?`,
  );
}

/** Beginning of the edit as `textAt` reads it from the answer. */
function beginningOf(question: string): string {
  return textAt({ edit: question.slice(0, REPEATED) }, "edit").slice(0, 80);
}
