import { createWriteStream } from "node:fs";
import { finished, pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { pack } from "tar-stream";
import { CLUSTER_LABEL, memberSelector, OPERATOR, selectorText } from "#api/names.ts";
import type { Selection } from "#kube/client.ts";
import {
  type AnyResource,
  LEASES,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  REPLICA_SETS,
  SERVICES,
} from "#kube/kinds.ts";
import { UsageError } from "../arguments.ts";
import type { Context, Run } from "../context.ts";
import { itemsAt, nameOf, namespaceOf, textAt, type Values } from "../fields.ts";
import { DEPLOYMENTS, EVENTS, OWN_KINDS } from "../kinds.ts";
import { Reader, whyNot } from "../read.ts";
import { redacted, withoutPassword } from "../redact.ts";
import { clean, safeJson } from "../text.ts";

/** The word instead of a cluster's name. */
const OPERATOR_WORD = "operator";
/** Lines of each container's log. */
const LOG_LINES = 2_000;

interface Part {
  readonly kind: AnyResource;
  readonly selection: Selection;
}

/**
 * Writes an archive of objects, events and logs for the people that help. Secrets are never asked for, and each right that is
 * missing is a line in it.
 */
export const report: Run = async (context) => {
  const parts = partsOf(context);
  if (context.input.given.has("list")) {
    for (const { kind, selection } of parts)
      context.write(
        `${kind.plural} in ${selection.namespace ?? "all namespaces"}${selection.labelSelector === undefined ? "" : ` with ${selection.labelSelector}`}\n`,
      );
    context.write(`logs: the last ${LOG_LINES} lines of each container of these pods, and of its previous run\n`);
    context.write("never: Secrets, ConfigMaps, values of variables that are not etcd's own, passwords in URLs\n");
    return 0;
  }
  const out = context.input.texts.output;
  if (out === undefined)
    throw new UsageError("Name the file with -o, such as -o report.tgz; --list shows what would be in it.");
  const files = await filesOf(context, parts);
  await writeArchive(out, files);
  context.write(
    `${out} has ${files.size} files. Look at it before you pass it on: names of objects and messages are in it as they are.\n`,
  );
  return 0;
};

function partsOf(context: Context): readonly Part[] {
  const name = context.input.names[0] ?? "";
  const { namespace } = context.connect();
  if (name === OPERATOR_WORD) {
    const labelSelector = `app.kubernetes.io/name=${OPERATOR}`;
    const where = context.input.texts.namespace === undefined ? {} : { namespace };
    const own = OWN_KINDS.map((kind) => ({ kind, selection: where }));
    return [DEPLOYMENTS, PODS, LEASES]
      .map((kind): Part => ({ kind, selection: { ...where, ...(kind === LEASES ? {} : { labelSelector }) } }))
      .concat(own);
  }
  const labelSelector = `${CLUSTER_LABEL}=${name}`;
  const inNamespace = OWN_KINDS.map((kind): Part => ({ kind, selection: { namespace } }));
  const labelled = [PERSISTENT_VOLUME_CLAIMS, REPLICA_SETS, SERVICES, POD_DISRUPTION_BUDGETS].map(
    (kind): Part => ({ kind, selection: { namespace, labelSelector } }),
  );
  const pods = { kind: PODS, selection: { namespace, labelSelector: selectorText(memberSelector(name)) } };
  return [...inNamespace, ...labelled, pods, { kind: EVENTS, selection: { namespace } }];
}

/** Every file by its path. What could not be read is a line of `missing.txt`. */
async function filesOf(context: Context, parts: readonly Part[]): Promise<ReadonlyMap<string, string>> {
  const reader = new Reader(context.connect().client, context.signal);
  const files = new Map<string, string>();
  const missing: string[] = [];
  for (const { kind, selection } of parts) {
    const many = await reader.many(kind, selection);
    if (many.is !== "present")
      missing.push(`${kind.plural}: ${many.is === "unknown" ? many.why : "not served by the API server"}`);
    else files.set(`${kind.plural}.json`, `${safeJson(redacted({ items: many.value }))}\n`);
    if (kind === PODS && many.is === "present") await addLogs(context, many.value, files, missing);
  }
  files.set("version.json", `${safeJson({ plugin: context.version, kubernetes: await versionOf(context) })}\n`);
  files.set(
    "missing.txt",
    missing.length === 0 ? "nothing\n" : `${missing.map((line) => clean(line, 500)).join("\n")}\n`,
  );
  return files;
}

async function addLogs(
  context: Context,
  pods: readonly Values[],
  files: Map<string, string>,
  missing: string[],
): Promise<void> {
  for (const pod of pods) {
    for (const container of itemsAt(pod, "spec", "containers").map((each) => textAt(each, "name"))) {
      const status = itemsAt(pod, "status", "containerStatuses").find((each) => textAt(each, "name") === container);
      const hasPrevious = Number(status?.restartCount ?? 0) > 0;
      for (const previous of hasPrevious ? [false, true] : [false]) {
        const file = `logs/${nameOf(pod)}/${container}${previous ? "-previous" : ""}.log`;
        try {
          files.set(file, withoutPassword(await logOf(context, pod, container, previous)));
        } catch (thrown) {
          missing.push(`${file}: ${whyNot(thrown)}`);
        }
      }
    }
  }
}

async function logOf(context: Context, pod: Values, container: string, previous: boolean): Promise<string> {
  const query = new URLSearchParams({
    container,
    timestamps: "true",
    tailLines: String(LOG_LINES),
    previous: String(previous),
  });
  const [namespace, name] = [namespaceOf(pod), nameOf(pod)].map(encodeURIComponent);
  return await context
    .connect()
    .client.raw("GET", `/api/v1/namespaces/${namespace}/pods/${name}/log?${query}`, { signal: context.signal });
}

async function versionOf(context: Context): Promise<string> {
  try {
    return clean(
      JSON.parse(await context.connect().client.raw("GET", "/version", { signal: context.signal })).gitVersion,
    );
  } catch (thrown) {
    return thrown instanceof SyntaxError ? "the answer to /version is not JSON" : whyNot(thrown);
  }
}

/** @throws UsageError when the file cannot be written */
async function writeArchive(out: string, files: ReadonlyMap<string, string>): Promise<void> {
  const tar = pack();
  // Only the owner may read it: names and messages may be confidential.
  const written = pipeline(tar, createGzip(), createWriteStream(out, { mode: 0o600 })).catch((thrown: Error) => {
    throw new UsageError(`The report cannot be written: ${thrown.message}`);
  });
  for (const [name, text] of files) {
    const bytes = Buffer.from(text);
    const entry = tar.entry({ name: `report/${name}`, mode: 0o600, size: bytes.length });
    entry.end(bytes);
    await Promise.race([finished(entry), written]);
  }
  tar.finalize();
  await written;
}
