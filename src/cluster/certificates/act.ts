import {
  APPLIED_HASH_ANNOTATION,
  applicationCertificateName,
  CERTIFICATE_FILE,
  KEY_FILE,
  ROTATED_FOR_ANNOTATION,
  TRUST_FILE,
} from "#api/names.ts";
import { rotationWish } from "#api/rotation-wish.ts";
import type { Side } from "#api/tls.ts";
import { OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { NEXT_CERTIFICATE, NEXT_KEY, textIn } from "#certificates/facts.ts";
import type { Issuer } from "#certificates/issue.ts";
import { bundleOf, certificatesIn, type KeyPair } from "#certificates/pem.ts";
import { madeForOf } from "#cluster/certificates/due.ts";
import { shownIn } from "#cluster/certificates/former.ts";
import { AUTHORITY_OF, orderOf, SIDES, secretNameOf } from "#cluster/certificates/purposes.ts";
import type { Phase } from "#cluster/certificates/rotation.ts";
import { endpointsOf, secretDraft } from "#cluster/certificates/secret.ts";
import { mountedIn } from "#cluster/certificates/trusted.ts";
import {
  type ClusterSnapshot,
  type LeafPurpose,
  type Purpose,
  peerNamed,
  type SeenCertificate,
} from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, SECRETS, type Secret } from "#kube/kinds.ts";
import { replacing } from "#kube/replacing.ts";

// Where are keys?
//   In the Secrets, and in the variables of these functions while one of them runs. What a step says of a Secret is what was seen of it: if it
//   has changed since, nothing is done.

const DAY_MS = 86_400_000;
/** An authority begins a day before it is made: a clock elsewhere may be behind. */
const BACKDATED_MS = DAY_MS;
const AUTHORITY_VALID_MS = 3_650 * DAY_MS;
/** The common name of an authority, without what tells two of them apart, ends here: 64 letters are allowed in all. */
const LONGEST_NAME = 40;

type Kube = Pick<KubeClient, "get" | "create" | "replace">;

interface Given {
  readonly kube: Kube;
  readonly issuer: Issuer;
  readonly snapshot: ClusterSnapshot;
  readonly signal: AbortSignal;
}

/** @param trust authorities that are trusted besides, in PEM @returns the Secret as it is stored, as all of these do */
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

/** One phase of how an authority is followed by another one. */
export async function rotateAuthority(given: Given, side: Side, phase: Phase, facts: SeenCertificate): Promise<Secret> {
  const live = await asSeen(given, facts);
  const [own = "", ...others] = certificatesIn(textIn(live, CERTIFICATE_FILE) + textIn(live, TRUST_FILE));
  const pair = { [CERTIFICATE_FILE]: own, [KEY_FILE]: textIn(live, KEY_FILE) };
  // What is there already somebody may trust.
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

/** A new pair, signed by the authority as it was seen. */
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
    // Whoever knows the authority knows it: no clock, however wrong the operator's is, can find that it is not good yet.
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

/** The same pair, with the authorities that are to be trusted by now. */
export async function spreadTrust(given: Given, authority: SeenCertificate, facts: SeenCertificate): Promise<Secret> {
  const live = await asSeen(given, facts);
  const texts = Object.keys(live.data ?? {}).map((key) => [key, textIn(live, key)] as const);
  const { metadata } = live;
  const draft = secretDraft(
    given.snapshot,
    metadata.name,
    { ...Object.fromEntries(texts), [TRUST_FILE]: authority.trust },
    metadata.annotations ?? {},
  );
  return await replace(given, live, draft);
}

/** Gives applications what somebody else has issued for them, with whom they have to trust, and where members are. */
export async function handOut(
  given: Given,
  { source, facts, trust }: Extract<ClusterStep, { do: "handOut" }>,
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
 * Reads once more what the member is to show after its restart, where that is another Secret than before: whoever fills it may have changed it, and
 * nobody would believe what it holds by now. @throws OperatorError KubeConflict
 */
export async function needAsSeen(
  given: Given,
  { name, pod }: Extract<ClusterStep, { do: "restartPod" }>,
): Promise<void> {
  const { tls } = peerNamed(given.snapshot, name)?.spec ?? {};
  for (const side of SIDES) {
    const secretName = tls?.[side]?.secretName;
    const facts = secretName === undefined ? undefined : shownIn(given.snapshot, side, secretName);
    if (facts !== undefined && mountedIn(pod, side) !== secretName) await asSeen(given, facts);
  }
}

async function replace({ kube, signal }: Given, live: Secret, draft: Draft<Secret>): Promise<Secret> {
  // The type of a Secret never changes, and what somebody else has added to its annotations stays.
  const { metadata, ...rest } = replacing<Secret>(live, { ...draft, type: live.type ?? "Opaque" });
  const { [ROTATED_FOR_ANNOTATION]: _, ...others } = metadata.annotations ?? {};
  const annotations = { ...others, ...draft.metadata.annotations };
  return await kube.replace(SECRETS, { ...rest, metadata: { ...metadata, annotations } }, { signal });
}

/** @throws OperatorError KubeConflict when it is not what was seen any more */
async function asSeen({ kube, snapshot, signal }: Given, facts: SeenCertificate): Promise<Secret> {
  const { namespace } = snapshot.cluster.metadata;
  const live = await kube.get(SECRETS, { namespace, name: facts.secretName }, { signal });
  const { uid, resourceVersion } = live.metadata;
  if (uid === facts.uid && resourceVersion === facts.resourceVersion) return live;
  throw new OperatorError("KubeConflict", `Secret ${namespace}/${facts.secretName} has changed since it was looked at`);
}

function pairIn(secret: Secret): KeyPair {
  return { certificate: textIn(secret, CERTIFICATE_FILE), key: textIn(secret, KEY_FILE) };
}

async function authorityFor({ issuer, snapshot }: Given, side: Side): Promise<KeyPair> {
  const { cluster, takenAtMs } = snapshot;
  const name = `${cluster.metadata.name.slice(0, LONGEST_NAME)} ${side} CA`;
  return await issuer.newAuthority(name, { fromMs: takenAtMs - BACKDATED_MS, untilMs: takenAtMs + AUTHORITY_VALID_MS });
}

/** By which wish of a person the authority is what it is. */
function askedMark(snapshot: ClusterSnapshot, side: Side): Record<string, string> {
  const asked = rotationWish(snapshot.cluster, side);
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
