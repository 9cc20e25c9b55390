import { withoutGiven } from "#api/given-metadata.ts";
import {
  APPLIED_HASH_ANNOTATION,
  applicationCertificateName,
  CERTIFICATE_FILE,
  KEY_FILE,
  ROTATE_CA_ANNOTATIONS,
  ROTATED_FOR_ANNOTATION,
  TRUST_FILE,
} from "#api/names.ts";
import { rotationRequest } from "#api/rotation-request.ts";
import type { Side } from "#api/tls.ts";
import { OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { NEXT_CERTIFICATE, NEXT_KEY, textIn } from "#certificates/facts.ts";
import type { Issuer } from "#certificates/issue.ts";
import { bundleOf, certificatesIn, type KeyPair } from "#certificates/pem.ts";
import {
  type ClusterSnapshot,
  type LeafPurpose,
  type Purpose,
  peerNamed,
  type SeenCertificate,
} from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { AUTHORITY_LIFE, type Phase } from "#cluster-tls/change/ca-rotation.ts";
import { mountedIn } from "#cluster-tls/check/trusted.ts";
import { certificateIn } from "#cluster-tls/effective/previous.ts";
import { AUTHORITY_OF, orderOf, SIDES, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { endpointsOf, secretDraft } from "#cluster-tls/read/secret.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, SECRETS, type Secret } from "#kube/kinds.ts";
import { replacing } from "#kube/replacing.ts";
import { madeForOf } from "./due.ts";

// Where are private keys?
//   In the Secrets, and in local variables of these functions while they run. A step carries the version of the Secret
//   that was seen: if the Secret has changed since, the step fails.

const DAY_MS = 86_400_000;
/** A CA is valid from a day before its creation: another clock may be behind. */
const BACKDATED_MS = DAY_MS;
/** Length of the cluster's name in a CA's common name. X.509 allows 64 characters, and a suffix distinguishes CAs. */
const LONGEST_NAME = 40;

type Kube = Pick<KubeClient, "get" | "create" | "replace">;

interface Given {
  readonly kube: Kube;
  readonly issuer: Issuer;
  readonly snapshot: ClusterSnapshot;
  readonly signal: AbortSignal;
}

/**
 * Creates a CA.
 * @param trust additional trusted CAs, in PEM
 * @returns the stored Secret, like all functions here
 */
export async function issueAuthority(given: Given, side: Side, trust: string): Promise<Secret> {
  const { kube, snapshot, signal } = given;
  const { certificate, key } = await authorityFor(given, side);
  const texts = {
    [CERTIFICATE_FILE]: certificate,
    [KEY_FILE]: key,
    [TRUST_FILE]: bundleOf([certificate, ...certificatesIn(trust)]),
  };
  const draft = secretDraft(snapshot, nameOf(snapshot, AUTHORITY_OF[side]), texts, askedMark(snapshot, side));
  return await kube.create(SECRETS, draft, { signal });
}

/** Performs one phase of a CA rotation. */
export async function rotateAuthority(given: Given, side: Side, phase: Phase, facts: SeenCertificate): Promise<Secret> {
  const live = await asSeen(given, facts);
  const [own = "", ...others] = certificatesIn(textIn(live, CERTIFICATE_FILE) + textIn(live, TRUST_FILE));
  const pair = { [CERTIFICATE_FILE]: own, [KEY_FILE]: textIn(live, KEY_FILE) };
  // An existing next CA is kept: it may be trusted already.
  const isMade = phase === "add" && facts.nextId === undefined;
  const next = isMade
    ? await authorityFor(given, side)
    : { certificate: textIn(live, NEXT_CERTIFICATE), key: textIn(live, NEXT_KEY) };
  const texts: Readonly<Record<Phase, () => Record<string, string>>> = {
    add: () => ({
      ...pair,
      [TRUST_FILE]: bundleOf([own, ...others, ...certificatesIn(next.certificate)]),
      [NEXT_CERTIFICATE]: next.certificate,
      [NEXT_KEY]: next.key,
    }),
    switch: () => ({
      [CERTIFICATE_FILE]: next.certificate,
      [KEY_FILE]: next.key,
      [TRUST_FILE]: bundleOf([...certificatesIn(next.certificate), own, ...others]),
    }),
    drop: () => ({ ...pair, [TRUST_FILE]: own }),
    forget: () => ({ ...pair, [TRUST_FILE]: bundleOf([own, ...others]) }),
  };
  const mark = isMade || phase === "forget" ? askedMark(given.snapshot, side) : markOf(live);
  return await replace(given, live, secretDraft(given.snapshot, live.metadata.name, texts[phase](), mark));
}

/** Issues a new certificate and key, signed by the CA as it was observed. */
export async function issueLeaf(
  given: Given,
  purpose: LeafPurpose,
  authority: SeenCertificate,
  facts: SeenCertificate | undefined,
): Promise<Secret> {
  const { kube, issuer, snapshot, signal } = given;
  const { cluster, takenAtMs } = snapshot;
  const signer = await asSeen(given, authority);
  const { durationMs, ...wish } = orderOf(cluster, purpose);
  const { certificate, key } = await issuer.newLeaf(pairIn(signer), {
    ...wish,
    // Valid from the same moment as its CA: no clock accepts the CA and finds the certificate not valid yet.
    fromMs: authority.notBeforeMs,
    untilMs: takenAtMs + durationMs,
  });
  const texts = {
    [CERTIFICATE_FILE]: certificate,
    [KEY_FILE]: key,
    [TRUST_FILE]: authority.trust,
    ...(purpose === "application" ? { endpoints: endpointsOf(cluster) } : {}),
  };
  const annotations = { [APPLIED_HASH_ANNOTATION]: madeForOf(snapshot, purpose) };
  const draft = secretDraft(snapshot, nameOf(snapshot, purpose), texts, annotations);
  if (facts === undefined) return await kube.create(SECRETS, draft, { signal });
  return await replace(given, await asSeen(given, facts), draft);
}

/** Writes a new ca.crt beside the existing pair, and the labels and annotations of the spec. */
export async function spreadTrust(given: Given, authority: SeenCertificate, facts: SeenCertificate): Promise<Secret> {
  const live = await asSeen(given, facts);
  const texts = Object.keys(live.data ?? {}).map((key) => [key, textIn(live, key)] as const);
  const { name, annotations = {} } = live.metadata;
  const { [APPLIED_HASH_ANNOTATION]: madeFor } = annotations;
  const draft = secretDraft(
    given.snapshot,
    name,
    { ...Object.fromEntries(texts), [TRUST_FILE]: authority.trust },
    madeFor === undefined ? {} : { [APPLIED_HASH_ANNOTATION]: madeFor },
  );
  return await replace(given, live, draft);
}

/** Publishes a certificate of another issuer to applications, with the CAs to trust and the endpoints. */
export async function publishClientSecret(
  given: Given,
  { source, facts, trust }: Extract<ClusterStep, { do: "publishClientSecret" }>,
): Promise<Secret> {
  const issued = await asSeen(given, source);
  const texts = {
    [CERTIFICATE_FILE]: textIn(issued, CERTIFICATE_FILE),
    [KEY_FILE]: textIn(issued, KEY_FILE),
    [TRUST_FILE]: trust,
    endpoints: endpointsOf(given.snapshot.cluster),
  };
  const name = applicationCertificateName(given.snapshot.cluster.metadata.name);
  const draft = secretDraft(given.snapshot, name, texts, {});
  if (facts === undefined) return await given.kube.create(SECRETS, draft, { signal: given.signal });
  return await replace(given, await asSeen(given, facts), draft);
}

/**
 * Checks that the Secret for the member's restart is unchanged, where it is another Secret than before. Its owner may
 * have changed it, and other members might reject the new certificate.
 * @throws OperatorError KubeConflict
 */
export async function needAsSeen(
  given: Given,
  { name, pod }: Extract<ClusterStep, { do: "restartPod" }>,
): Promise<void> {
  const { tls } = peerNamed(given.snapshot, name)?.spec ?? {};
  for (const side of SIDES) {
    const secretName = tls?.[side]?.secretName;
    const facts = secretName === undefined ? undefined : certificateIn(given.snapshot, side, secretName);
    if (facts !== undefined && mountedIn(pod, side) !== secretName) await asSeen(given, facts);
  }
}

async function replace({ kube, signal }: Given, live: Secret, draft: Draft<Secret>): Promise<Secret> {
  // The type of a Secret is immutable, and annotations of other writers are kept.
  const { metadata, ...rest } = replacing<Secret>(withoutGiven(live), { ...draft, type: live.type ?? "Opaque" });
  const { [ROTATED_FOR_ANNOTATION]: _, ...others } = metadata.annotations ?? {};
  const annotations = { ...others, ...draft.metadata.annotations };
  return await kube.replace(SECRETS, { ...rest, metadata: { ...metadata, annotations } }, { signal });
}

/**
 * Reads the Secret again.
 * @throws OperatorError KubeConflict when it has changed since it was observed
 */
async function asSeen({ kube, snapshot, signal }: Given, facts: SeenCertificate): Promise<Secret> {
  const { namespace } = snapshot.cluster.metadata;
  const live = await kube.get(SECRETS, { namespace, name: facts.secretName }, { signal });
  const { uid, resourceVersion } = live.metadata;
  if (uid === facts.uid && resourceVersion === facts.resourceVersion) return live;
  throw new OperatorError("KubeConflict", `Secret ${namespace}/${facts.secretName} has changed since it was read`);
}

function pairIn(secret: Secret): KeyPair {
  return { certificate: textIn(secret, CERTIFICATE_FILE), key: textIn(secret, KEY_FILE) };
}

async function authorityFor({ issuer, snapshot }: Given, side: Side): Promise<KeyPair> {
  const { cluster, takenAtMs } = snapshot;
  const name = `${cluster.metadata.name.slice(0, LONGEST_NAME)} ${side} CA`;
  return await issuer.newAuthority(name, {
    fromMs: takenAtMs - BACKDATED_MS,
    untilMs: takenAtMs + AUTHORITY_LIFE.durationMs,
  });
}

/** The value of the rotation annotation for which the CA was created. */
function askedMark(snapshot: ClusterSnapshot, side: Side): Record<string, string> {
  const asked = rotationRequest(snapshot.cluster, ROTATE_CA_ANNOTATIONS[side]);
  return asked === undefined ? {} : { [ROTATED_FOR_ANNOTATION]: asked };
}

function markOf({ metadata }: Secret): Record<string, string> {
  const mark = metadata.annotations?.[ROTATED_FOR_ANNOTATION];
  return mark === undefined ? {} : { [ROTATED_FOR_ANNOTATION]: mark };
}

function nameOf({ cluster }: ClusterSnapshot, purpose: Purpose): string {
  const name = secretNameOf(cluster, purpose);
  invariant(name !== undefined, "a Secret is only filled where the operator issues");
  return name;
}
