import { randomBytes } from "node:crypto";
import { CLUSTER_ADMISSION_PATH, CLUSTER_LABEL, GROUP, MANAGED_BY_LABEL, OPERATOR, selectorText } from "#api/names.ts";
import { askedIn } from "#api/revision.ts";
import { whyNotShape } from "#api/shape.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { asOperatorError } from "#base/error.ts";
import { isSameData } from "#base/hash.ts";
import { isMap, quoted } from "#base/json.ts";
import type { Log } from "#base/log.ts";
import type { KubeClient } from "#kube/client.ts";
import { PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim, REPLICA_SETS, SECRETS } from "#kube/kinds.ts";
import {
  type AdmissionRequest,
  admissionRequest,
  admissionReview,
  type Findings,
  limitedRefusals,
  NO_FINDINGS,
} from "#webhooks/admission-review.ts";
import type { BodyLimits } from "#webhooks/body.ts";
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
import { compactionWarnings, quotaWarnings, resourceWarnings } from "#webhooks/checks/resources.ts";
import { sizeRefusals } from "#webhooks/checks/size.ts";
import { switchedTlsRefusals } from "#webhooks/checks/switched-tls.ts";
import { templateRefusals } from "#webhooks/checks/template.ts";
import { extraNameRefusals, newlyNamed, ownSecretRefusals, secretWarnings } from "#webhooks/checks/tls.ts";
import { topologyWarnings } from "#webhooks/checks/topology.ts";
import { trialReplicaSet, triedSpec } from "#webhooks/checks/trial.ts";
import { versionRefusals } from "#webhooks/checks/version.ts";
import { waiverRefusals } from "#webhooks/checks/waivers.ts";
import { clusterIn, scaleIn } from "#webhooks/sent-object.ts";
import type { WebhookHere } from "#webhooks/server.ts";
import { invalid } from "#webhooks/untrusted.ts";

// What is checked here, and what by the schema?
//   The schema and its rules check all that one object can show, even while no operator runs. Here are checks that need
//   a request to the API server, and warnings.
// What if such a request fails? The edit is admitted: the operator later reports the problem in the status.

/**
 * Limits of a request. Bytes: an object of 3 MiB, the most that an API server accepts, the stored 1.5 MiB, and overhead
 * of JSON. Parts: parsing and checking take 2 us each, at most 120 ms; 1,000 environment variables are 10,000 parts, a
 * usual EtcdCluster 500.
 */
const LIMITS: BodyLimits = { maxBytes: 6 * 1024 * 1024, maxParts: 60_000, maxDepth: 10_100, bytesOfPart: 60 };
/** Deadline in milliseconds for requests to the API server, which itself waits for this webhook. */
const ASK_WITHIN_MS = 3_000;

/** The kind that `kubectl scale` writes. */
const SCALE = "Scale.v1.autoscaling";

interface ClusterAdmission {
  readonly kube: Pick<KubeClient, "create" | "list" | "find">;
  /** Repository of etcd's images without a tag, from the operator's flags. */
  readonly imageRepository: string;
  readonly clock: Pick<Clock, "wallMs">;
  readonly log: Log;
}

/** Checks EtcdClusters on creation and update. */
export function clusterAdmission(tools: ClusterAdmission): WebhookHere {
  return {
    path: CLUSTER_ADMISSION_PATH,
    limits: LIMITS,
    refuse: refusalOf,
    async answer(body, signal) {
      const request = admissionRequest(body);
      if (request.kind === SCALE) return admissionReview(request.uid, undefined, scaleFindings(request));
      if (!/^EtcdCluster\..*\.etcd\.improbable\.io$/.test(request.kind)) {
        throw invalid(`request.kind is ${quoted(request.kind)}; this webhook checks EtcdClusters`);
      }
      if (request.operation !== "CREATE" && request.operation !== "UPDATE")
        return admissionReview(request.uid, undefined, NO_FINDINGS);
      const cluster = clusterIn(request.object, "request.object");
      const found = await findingsOf(tools, request, cluster, signal).catch((thrown: unknown) => {
        throw whyNotClusters(request) ?? thrown;
      });
      const findings = { ...found, refusals: limitedRefusals(found.refusals) };
      const { namespace, name } = cluster.metadata;
      const because = findings.refusals.map(({ field, message }) => `${field}: ${message}`).join("; ");
      if (because !== "") tools.log.info({ namespace, name, because }, "refused an EtcdCluster");
      return admissionReview(request.uid, { group: GROUP, kind: "EtcdCluster", name }, findings);
    },
  };
}

/**
 * Beginning of an API server's request: https://pkg.go.dev/k8s.io/api/admission/v1#AdmissionReview, fields in their
 * order.
 */
const BEGINNING = /^\{"kind":"AdmissionReview","apiVersion":"admission\.k8s\.io\/v1","request":\{"uid":"([\w-]{1,64})"/;

/**
 * Refuses an object that is too large to be parsed. Without an answer to its uid the API server would admit it
 * (`failurePolicy: Ignore`).
 */
function refusalOf(head: string, why: string): object | undefined {
  const [, uid] = BEGINNING.exec(head) ?? [];
  if (uid === undefined) return undefined;
  const message = `${why}; an EtcdCluster that is stored with more can only be deleted: "kubectl delete --cascade=background" does, and keeps its volumes`;
  return admissionReview(uid, undefined, { refusals: [{ field: "the AdmissionReview", message }], warnings: [] });
}

function scaleFindings({ object, oldObject }: AdmissionRequest): Findings {
  const [now, before] = [scaleIn(object, "request.object"), scaleIn(oldObject, "request.oldObject")];
  return { refusals: [], warnings: replicaWarnings(now, before) };
}

/**
 * Why the object cannot be an EtcdCluster that an API server sends. Used only after a check has thrown: the API server
 * has validated new fields, but not old ones that an earlier schema allowed.
 */
function whyNotClusters({ object, oldObject }: AdmissionRequest): Error | undefined {
  const specs = [object, oldObject].filter(isMap).map(({ spec }) => spec);
  const [why] = specs.flatMap((spec) => whyNotShape(spec, "EtcdCluster") ?? []);
  return why === undefined ? undefined : invalid(why);
}

async function findingsOf(
  tools: ClusterAdmission,
  { operation, oldObject, written }: AdmissionRequest,
  cluster: EtcdCluster,
  signal: AbortSignal,
): Promise<Findings> {
  if (cluster.metadata.deletionTimestamp !== undefined) return NO_FINDINGS; // removing a finalizer must not be held up
  const deep = depthRefusals(cluster.spec);
  if (deep.length > 0) return { refusals: deep, warnings: [] }; // the other checks would traverse it
  const large = sizeRefusals(cluster);
  if (large.length > 0) return { refusals: large, warnings: [] };
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
    // A dry run of a spec that is refused anyway would only repeat it.
    isNewTemplate && refusals.length === 0 ? triedOut(tools, cluster, signal) : NO_FINDINGS,
    isNewTemplate && refusals.length === 0 ? withMounts(tools, cluster, signal) : NO_FINDINGS,
    isNew ? withClaims(tools, cluster, signal) : NO_FINDINGS,
    withSecrets(tools, cluster, before, signal),
  ]);
  const unwise = [
    ...[replicaWarnings, resourceWarnings, quotaWarnings, compactionWarnings],
    ...[topologyWarnings, unwiseFlags],
  ].flatMap((of) => of(cluster.spec, before?.spec, written));
  return {
    refusals: [
      ...beyond.refusals,
      ...dryRunRefusals(cluster, before),
      ...waiverRefusals(cluster, before, tools.clock.wallMs()),
      ...refusals,
      ...asked.flatMap((each) => each.refusals),
    ],
    warnings: [...beyond.warnings, ...unwise, ...asked.flatMap(({ warnings }) => warnings)],
  };
}

/**
 * The part of the spec that determines members' pods. A new cluster's does not change when the operator writes its
 * default spec.tls.
 */
function wishOf(cluster: EtcdCluster): object {
  const spec = triedSpec(cluster);
  return { ...askedIn(spec, undefined), tls: spec.tls };
}

/** Sends the ReplicaSet of a member to the API server as a dry run. */
async function triedOut({ kube, imageRepository, log }: ClusterAdmission, cluster: EtcdCluster, signal: AbortSignal) {
  const replicaSet = trialReplicaSet(cluster, imageRepository, randomBytes(4).toString("hex"));
  try {
    await kube.create(REPLICA_SETS, replicaSet, { signal, deadlineMs: ASK_WITHIN_MS, dryRun: true });
    return NO_FINDINGS;
  } catch (thrown) {
    const error = asOperatorError(thrown);
    const findings = podTemplateFindings(error, { replicaSet, spec: cluster.spec });
    if (findings.refusals.length === 0)
      logUnchecked(log, cluster, error.message, "admitted a pod template without a dry run");
    return findings;
  }
}

/** Checks whether the pod template mounts claims of members. */
async function withMounts(tools: ClusterAdmission, cluster: EtcdCluster, signal: AbortSignal) {
  if (!mountsClaims(cluster)) return NO_FINDINGS;
  const message = "admitted a pod template without checking the claims that it mounts";
  return await claimsAsked(tools, cluster, {}, mountedClaimRefusals, message, signal);
}

/** Checks whether the Secrets that the spec newly names exist. */
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

/** Checks a new cluster against existing claims of its name. */
async function withClaims(tools: ClusterAdmission, cluster: EtcdCluster, signal: AbortSignal) {
  const labels = { [CLUSTER_LABEL]: cluster.metadata.name };
  const message = "admitted a new cluster without checking its claims";
  return await claimsAsked(tools, cluster, labels, keptClaimRefusals, message, signal);
}

/** @param labels of the operator's claims to check @param message for the log when the list fails */
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
    logUnchecked(log, cluster, asOperatorError(thrown).message, message);
    return NO_FINDINGS;
  }
}

function logUnchecked(log: Log, { metadata }: EtcdCluster, error: string, message: string): void {
  log.warn({ namespace: metadata.namespace, name: metadata.name, error }, message);
}
