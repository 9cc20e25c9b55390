import { randomBytes } from "node:crypto";
import { CLUSTER_ADMISSION_PATH, CLUSTER_LABEL, GROUP, MANAGED_BY_LABEL, OPERATOR, selectorText } from "#api/names.ts";
import { askedIn } from "#api/revision.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { asOperatorError } from "#base/error.ts";
import { isSameData } from "#base/hash.ts";
import { told } from "#base/json.ts";
import type { Log } from "#base/log.ts";
import type { KubeClient } from "#kube/client.ts";
import { PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim, REPLICA_SETS, SECRETS } from "#kube/kinds.ts";
import {
  type AdmissionRequest,
  admissionRequest,
  admissionReview,
  type Findings,
  NO_FINDINGS,
} from "#webhooks/admission-review.ts";
import { authRefusals } from "#webhooks/checks/auth.ts";
import { beyondFindings } from "#webhooks/checks/beyond.ts";
import { depthRefusals } from "#webhooks/checks/depth.ts";
import { dryRunRefusals } from "#webhooks/checks/dry-run.ts";
import { flagRefusals, unwiseFlags } from "#webhooks/checks/flags.ts";
import { keptClaimRefusals } from "#webhooks/checks/kept-claims.ts";
import { mountedClaimRefusals, mountsClaims } from "#webhooks/checks/mounted-claims.ts";
import { networkPolicyRefusals } from "#webhooks/checks/network-policy.ts";
import { podTemplateFindings } from "#webhooks/checks/pod-template.ts";
import { replicaWarnings } from "#webhooks/checks/replicas.ts";
import { resourceWarnings } from "#webhooks/checks/resources.ts";
import { rotationRefusals } from "#webhooks/checks/rotation.ts";
import { switchedTlsRefusals } from "#webhooks/checks/switched-tls.ts";
import { templateRefusals } from "#webhooks/checks/template.ts";
import { extraNameRefusals, newlyNamed, ownSecretRefusals, secretWarnings } from "#webhooks/checks/tls.ts";
import { topologyWarnings } from "#webhooks/checks/topology.ts";
import { trialReplicaSet, triedSpec } from "#webhooks/checks/trial.ts";
import { versionRefusals } from "#webhooks/checks/version.ts";
import { waiverRefusals } from "#webhooks/checks/waivers.ts";
import type { Webhook } from "#webhooks/server.ts";
import { invalid, record, text } from "#webhooks/untrusted.ts";

// What is checked here, and what by the schema?
//   The schema and its rules check all that one object can tell; they are there whether or not an operator runs. Here stands what needs
//   a question to the API server, and what is only unwise.
// What if a question cannot be asked? Then the edit is let through: the operator tells what hinders it, as it would have anyway.

/** Both versions of an object, each up to what etcd stores, and room for what JSON adds. */
const MAX_BYTES = 8 * 1024 * 1024;
/** For questions to the API server, which asks us and waits: in milliseconds. */
const ASK_WITHIN_MS = 3_000;

/** What `kubectl scale` writes. */
const SCALE = "Scale.v1.autoscaling";

interface ClusterAdmission {
  readonly kube: Pick<KubeClient, "create" | "list" | "find">;
  /** Where etcd's images come from, without tag: a setting of the operator. */
  readonly imageRepository: string;
  readonly clock: Pick<Clock, "wallMs">;
  readonly log: Log;
}

/** Checks EtcdClusters that are made or changed. */
export function clusterAdmission(tools: ClusterAdmission): Webhook {
  return {
    path: CLUSTER_ADMISSION_PATH,
    maxBytes: MAX_BYTES,
    async answer(body, signal) {
      const request = admissionRequest(body);
      if (request.kind === SCALE) return admissionReview(request.uid, undefined, scaleFindings(request));
      if (!/^EtcdCluster\..*\.etcd\.improbable\.io$/.test(request.kind)) {
        throw invalid(`request.kind is ${told(request.kind)}; what is checked here is an EtcdCluster`);
      }
      if (request.operation !== "CREATE" && request.operation !== "UPDATE")
        return admissionReview(request.uid, undefined, NO_FINDINGS);
      const cluster = clusterIn(request.object, "request.object");
      const findings = await findingsOf(tools, request, cluster, signal);
      const { namespace, name } = cluster.metadata;
      const because = findings.refusals.map(({ field, message }) => `${field}: ${message}`).join("; ");
      if (because !== "") tools.log.info({ namespace, name, because }, "refused an EtcdCluster");
      return admissionReview(request.uid, { group: GROUP, kind: "EtcdCluster", name }, findings);
    },
  };
}

function scaleFindings({ object, oldObject }: AdmissionRequest): Findings {
  const [now, before] = [scaleIn(object, "request.object"), scaleIn(oldObject, "request.oldObject")];
  return { refusals: [], warnings: replicaWarnings(now, before) };
}

async function findingsOf(
  tools: ClusterAdmission,
  { operation, oldObject, written }: AdmissionRequest,
  cluster: EtcdCluster,
  signal: AbortSignal,
): Promise<Findings> {
  if (cluster.metadata.deletionTimestamp !== undefined) return NO_FINDINGS; // whoever lets go of it shall not be held up
  const deep = depthRefusals(cluster.spec);
  if (deep.length > 0) return { refusals: deep, warnings: [] }; // all else would walk through it
  const isNew = operation === "CREATE";
  const before = isNew ? undefined : clusterIn(oldObject, "request.oldObject");
  const refusals = [
    ...versionRefusals(cluster.spec, before),
    ...templateRefusals(cluster, before),
    ...flagRefusals(cluster.spec, before?.spec),
    ...networkPolicyRefusals(cluster.spec, before?.spec),
    ...(isSameData(cluster.spec.tls, before?.spec.tls) ? [] : extraNameRefusals(cluster)),
    ...ownSecretRefusals(cluster, before),
    ...switchedTlsRefusals(cluster, before, written),
    ...authRefusals(cluster, before),
  ];
  const beyond = beyondFindings(cluster, before);
  const isNewTemplate = before === undefined || !isSameData(wishOf(cluster), wishOf(before));
  const asked = await Promise.all([
    // What is refused anyway would be tried without it.
    isNewTemplate && refusals.length === 0 ? triedOut(tools, cluster, signal) : NO_FINDINGS,
    isNewTemplate && refusals.length === 0 ? withMounts(tools, cluster, signal) : NO_FINDINGS,
    isNew ? withClaims(tools, cluster, signal) : NO_FINDINGS,
    withSecrets(tools, cluster, before, signal),
  ]);
  const unwise = [replicaWarnings, resourceWarnings, topologyWarnings, unwiseFlags].flatMap((of) =>
    of(cluster.spec, before?.spec),
  );
  return {
    refusals: [
      ...beyond.refusals,
      ...dryRunRefusals(cluster, before),
      ...waiverRefusals(cluster, before, tools.clock.wallMs()),
      ...rotationRefusals(cluster, before),
      ...refusals,
      ...asked.flatMap((each) => each.refusals),
    ],
    warnings: [...beyond.warnings, ...unwise, ...asked.flatMap(({ warnings }) => warnings)],
  };
}

/** All that decides what the pod of a member looks like. That of a new cluster does not change when the operator writes that it speaks TLS. */
function wishOf(cluster: EtcdCluster): object {
  const spec = triedSpec(cluster);
  return { ...askedIn(spec, undefined), tls: spec.tls };
}

/** Asks the API server whether it would take the ReplicaSet of a member. */
async function triedOut({ kube, imageRepository, log }: ClusterAdmission, cluster: EtcdCluster, signal: AbortSignal) {
  const replicaSet = trialReplicaSet(cluster, imageRepository, randomBytes(4).toString("hex"));
  try {
    await kube.create(REPLICA_SETS, replicaSet, { signal, deadlineMs: ASK_WITHIN_MS, dryRun: true });
    return NO_FINDINGS;
  } catch (thrown) {
    const error = asOperatorError(thrown);
    const findings = podTemplateFindings(error, { replicaSet, spec: cluster.spec });
    if (findings.refusals.length === 0) untold(log, cluster, error.message, "a pod template was let through untried");
    return findings;
  }
}

/** Asks whether claims that the pod template mounts are members'. */
async function withMounts(tools: ClusterAdmission, cluster: EtcdCluster, signal: AbortSignal) {
  if (!mountsClaims(cluster)) return NO_FINDINGS;
  const message = "a pod template was let through without a look at the claims that it mounts";
  return await claimsAsked(tools, cluster, {}, mountedClaimRefusals, message, signal);
}

/** Asks whether the Secrets with certificates that the spec names now are there. */
async function withSecrets(
  { kube }: ClusterAdmission,
  cluster: EtcdCluster,
  before: EtcdCluster | undefined,
  signal: AbortSignal,
): Promise<Findings> {
  const { namespace } = cluster.metadata;
  const options = { signal, deadlineMs: ASK_WITHIN_MS };
  const named = newlyNamed(cluster, before);
  const asked = await Promise.all(
    named.map(async (each) => secretWarnings(each, await kube.find(SECRETS, { namespace, name: each.name }, options))),
  );
  return { refusals: [], warnings: asked.flat() };
}

/** Asks whether there are claims of that name, and if so, what of them. */
async function withClaims(tools: ClusterAdmission, cluster: EtcdCluster, signal: AbortSignal) {
  const labels = { [CLUSTER_LABEL]: cluster.metadata.name };
  const message = "a new cluster was let through without a look at its claims";
  return await claimsAsked(tools, cluster, labels, keptClaimRefusals, message, signal);
}

/** @param labels of claims of ours that matter @param message for the log, if it cannot be asked */
async function claimsAsked(
  { kube, log }: ClusterAdmission,
  cluster: EtcdCluster,
  labels: Readonly<Record<string, string>>,
  refusals: (cluster: EtcdCluster, claims: readonly PersistentVolumeClaim[]) => Findings["refusals"],
  message: string,
  signal: AbortSignal,
): Promise<Findings> {
  const { namespace } = cluster.metadata;
  const labelSelector = selectorText({ [MANAGED_BY_LABEL]: OPERATOR, ...labels });
  try {
    const options = { signal, deadlineMs: ASK_WITHIN_MS };
    const { items } = await kube.list(PERSISTENT_VOLUME_CLAIMS, { namespace, labelSelector }, options);
    return { refusals: refusals(cluster, items), warnings: [] };
  } catch (thrown) {
    untold(log, cluster, asOperatorError(thrown).message, message);
    return NO_FINDINGS;
  }
}

function untold(log: Log, { metadata }: EtcdCluster, error: string, message: string): void {
  log.warn({ namespace: metadata.namespace, name: metadata.name, error }, message);
}

/**
 * The object, if it has what every EtcdCluster has that passed the schema.
 * @throws OperatorError InvalidSpec
 */
function clusterIn(object: unknown, where: string): EtcdCluster {
  const whole = record(object, where);
  const metadata = record(whole.metadata, `${where}.metadata`);
  const spec = record(whole.spec, `${where}.spec`);
  for (const field of ["namespace", "name"]) text(metadata[field], `${where}.metadata.${field}`);
  text(spec.version, `${where}.spec.version`);
  replicasIn(spec, where);
  for (const field of ["storage", "podTemplate"]) record(spec[field], `${where}.spec.${field}`);
  const tls = record(spec.tls ?? {}, `${where}.spec.tls`);
  for (const side of ["peer", "client"]) {
    const { secret, extraNames = [] } = record(tls[side] ?? {}, `${where}.spec.tls.${side}`);
    for (const [field, name] of Object.entries(record(secret ?? {}, `${where}.spec.tls.${side}.secret`)))
      text(name, `${where}.spec.tls.${side}.secret.${field}`);
    if (!Array.isArray(extraNames)) throw invalid(`${where}.spec.tls.${side}.extraNames is no list`);
    for (const name of extraNames) text(name, `${where}.spec.tls.${side}.extraNames`);
  }
  record(spec.auth ?? {}, `${where}.spec.auth`);
  const { extraArgs = {} } = record(spec.etcd ?? {}, `${where}.spec.etcd`);
  for (const [flag, value] of Object.entries(record(extraArgs, `${where}.spec.etcd.extraArgs`)))
    if (typeof value !== "string")
      throw invalid(`${where}.spec.etcd.extraArgs[${told(flag)}] is ${told(value)}; it must be a text`);
  return object as EtcdCluster;
}

/** Kubernetes leaves the number out where it is none. */
function scaleIn(object: unknown, where: string): { readonly replicas: number } {
  const spec = record(record(object, where).spec, `${where}.spec`);
  return { replicas: replicasIn({ replicas: 0, ...spec }, where) };
}

function replicasIn({ replicas }: Readonly<Record<string, unknown>>, where: string): number {
  if (typeof replicas === "number" && Number.isInteger(replicas)) return replicas;
  throw invalid(`${where}.spec.replicas is ${told(replicas)}; it must be a number`);
}
