import { CLUSTER_LABEL, memberSelector, PAUSED_ANNOTATION, PEER_LABEL, selectorText } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { record } from "#base/json.ts";
import { type AnyResource, apiVersionOf, PERSISTENT_VOLUME_CLAIMS, PODS } from "#kube/kinds.ts";
import { UsageError } from "../arguments.ts";
import { type Context, isValue, type Run, writeLines, writeValue } from "../context.ts";
import { backupDraft, certificateDraft, type Draft, restoreDraft, undeleteDraft } from "../edits.ts";
import { at, textAt, type Values } from "../fields.ts";
import { fileOf } from "../file.ts";
import { ETCD_BACKUP_SCHEDULES, ETCD_BACKUPS, ETCD_CLUSTERS, ETCD_RESTORES, ETCD_USERS } from "../kinds.ts";
import { Reader } from "../read.ts";
import { bindingScreen } from "../screens/binding.ts";
import { schedulesScreen } from "../screens/schedules.ts";
import { clean } from "../text.ts";

/** Annotation of `kubectl rollout restart`; a new value restarts the pods. */
const RESTARTED_ANNOTATION = "kubectl.kubernetes.io/restartedAt";

export const pause: Run = async (context) => {
  await annotate(context, { [PAUSED_ANNOTATION]: "true" });
  context.write(
    `EtcdCluster ${nameIn(context)} is paused: only its certificates are renewed. To go on: kubectl etcd resume ${nameIn(context)}\n`,
  );
  return 0;
};

export const resume: Run = async (context) => {
  const cluster = await must(context, ETCD_CLUSTERS, nameIn(context));
  if (at(cluster, "spec", "paused") === true)
    throw new UsageError(
      `EtcdCluster ${nameIn(context)} is paused by its field spec.paused: set it to false where the spec is written.`,
    );
  await annotate(context, { [PAUSED_ANNOTATION]: null });
  context.write(`EtcdCluster ${nameIn(context)} is not paused any longer.\n`);
  return 0;
};

/** All members, one after another by the operator; or one member, by an eviction that the budget may refuse. */
export const restart: Run = async (context) => {
  const { client, namespace } = context.connect();
  const [name = "", member] = context.input.names;
  const { signal } = context;
  if (member === undefined) {
    const annotations = { [RESTARTED_ANNOTATION]: new Date(context.nowMs()).toISOString() };
    const patch = { spec: { podTemplate: { metadata: { annotations } } } };
    await client.patch(ETCD_CLUSTERS, { namespace, name }, patch, { type: "merge", signal });
    context.write(
      `The operator restarts the members of ${name} one after another. To look: kubectl etcd status ${name} --watch\n`,
    );
    return 0;
  }
  const pod = await podOf(context, name, member);
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod, namespace } };
  await client.raw("POST", path, { signal, body });
  context.write(`Pod ${pod} of ${member} is evicted, and its ReplicaSet makes a new one.\n`);
  return 0;
};

export const backup: Run = async (context) => {
  const { client, namespace } = context.connect();
  const schedules = await schedulesOf(context, new Reader(client, context.signal), namespace);
  return await create(
    context,
    ETCD_BACKUPS,
    backupDraft(nameIn(context), schedules, context.input.texts.schedule, context.nowMs()),
  );
};

export const restore: Run = async (context) => {
  const { from, as, until } = context.input.texts;
  if (from === undefined || as === undefined)
    throw new UsageError("Name the EtcdBackup with --from and the new EtcdCluster with --as.");
  const cluster = await must(context, ETCD_CLUSTERS, nameIn(context));
  return await create(context, ETCD_RESTORES, restoreDraft(cluster, from, as, until));
};

export const schedule: Run = async (context) => {
  const { client, namespace } = context.connect();
  const schedules = await schedulesOf(context, new Reader(client, context.signal), namespace);
  if (isValue(context)) await writeValue(context, { items: schedules });
  else if (schedules.length === 0) context.write(`No EtcdBackupSchedule names EtcdCluster ${nameIn(context)}.\n`);
  else writeLines(context, schedulesScreen(schedules, context.nowMs()));
  return 0;
};

export const binding: Run = async (context) => {
  const user = await must(context, ETCD_USERS, nameIn(context));
  if (isValue(context)) await writeValue(context, user);
  else writeLines(context, bindingScreen(user, context.nowMs()));
  return 0;
};

export const certificate: Run = async (context) => {
  const [cluster = "", commonName = ""] = context.input.names;
  const roles = (context.input.texts.roles ?? "").split(",").filter((each) => each !== "");
  const code = await create(context, ETCD_USERS, certificateDraft(cluster, commonName, roles));
  if (!isValue(context))
    context.write("When it is ready: kubectl etcd binding with the name of the EtcdUser shows its Secret.\n");
  return code;
};

export const undelete: Run = async (context) => {
  const { client, namespace } = context.connect();
  const name = nameIn(context);
  const reader = new Reader(client, context.signal);
  const found = await reader.one(ETCD_CLUSTERS, { namespace, name });
  if (found.is === "present")
    throw new UsageError(`EtcdCluster ${name} exists in namespace ${namespace}; there is nothing to bring back.`);
  const claims = await reader.many(PERSISTENT_VOLUME_CLAIMS, { namespace, labelSelector: `${CLUSTER_LABEL}=${name}` });
  if (claims.is !== "present")
    throw new OperatorError(
      "KubeUnavailable",
      `The claims of ${name} cannot be read${claims.is === "unknown" ? `: ${claims.why}` : ""}.`,
    );
  const given = record(await fileOf(context.input.texts.filename));
  const draft = undeleteDraft(name, claims.value, record(given.spec ?? given));
  if (context.input.given.has("yes") || "refused" in draft) return await create(context, ETCD_CLUSTERS, draft);
  await writeValue(
    { ...context, input: { ...context.input, texts: { ...context.input.texts, output: "yaml" } } },
    whole(ETCD_CLUSTERS, namespace, draft.object),
  );
  context.warn(
    "Nothing is created yet. Compare it with the spec that the cluster had; to create it: the same command with --yes.\n",
  );
  return 0;
};

function nameIn(context: Context): string {
  return context.input.names[0] ?? "";
}

async function annotate(context: Context, annotations: Values): Promise<void> {
  const { client, namespace } = context.connect();
  const patch = { metadata: { annotations } };
  await client.patch(ETCD_CLUSTERS, { namespace, name: nameIn(context) }, patch, {
    type: "merge",
    signal: context.signal,
  });
}

/** @throws OperatorError when the object does not exist or cannot be read */
export async function must(context: Context, kind: AnyResource, name: string): Promise<Values> {
  const { client, namespace } = context.connect();
  const found = await new Reader(client, context.signal).one(kind, { namespace, name });
  if (found.is === "present") return found.value;
  const why = found.is === "absent" ? "does not exist" : `cannot be read: ${found.why}`;
  throw new OperatorError("KubeNotFound", `${kind.kind} ${name} in namespace ${namespace} ${why}.`);
}

async function schedulesOf(context: Context, reader: Reader, namespace: string): Promise<readonly Values[]> {
  const all = await reader.many(ETCD_BACKUP_SCHEDULES, { namespace });
  if (all.is === "unknown")
    throw new OperatorError("KubeUnavailable", `The EtcdBackupSchedules cannot be read: ${all.why}`);
  const path = ["spec", "backupTemplate", "spec", "source", "cluster", "name"] as const;
  return all.is === "absent" ? [] : all.value.filter((each) => textAt(each, ...path) === nameIn(context));
}

async function create(context: Context, kind: AnyResource, draft: Draft): Promise<number> {
  if ("refused" in draft) throw new UsageError(draft.refused);
  const { client, namespace } = context.connect();
  const wanted = whole(kind, namespace, draft.object) as never;
  // A dry run refuses unknown fields, which the API server otherwise drops in silence.
  await client.create(kind, wanted, { signal: context.signal, dryRun: true });
  const made = await client.create(kind, wanted, { signal: context.signal });
  if (isValue(context)) await writeValue(context, made);
  else context.write(`${kind.kind} ${clean(made.metadata.name)} is created.\n`);
  return 0;
}

function whole(kind: AnyResource, namespace: string, object: Values): Values {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    ...object,
    metadata: { namespace, ...record(object.metadata) },
  };
}

/** Name of the member's pod. @throws OperatorError when it has none */
export async function podOf(context: Context, cluster: string, member: string): Promise<string> {
  const { client, namespace } = context.connect();
  const labelSelector = selectorText({ ...memberSelector(cluster), [PEER_LABEL]: member });
  const { items } = await client.list(PODS, { namespace, labelSelector }, { signal: context.signal });
  const running = items.filter((each) => each.metadata.deletionTimestamp === undefined)[0];
  if (running === undefined)
    throw new OperatorError(
      "KubeNotFound",
      `${member} of EtcdCluster ${cluster} in namespace ${namespace} has no pod.`,
    );
  return running.metadata.name;
}
