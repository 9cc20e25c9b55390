import { givenText } from "#api/given-metadata.ts";
import {
  CERTIFICATE_FILE,
  CLIENT_TRUST_ANNOTATION,
  KEY_FILE,
  ROTATED_AT_ANNOTATION,
  ROTATED_FOR_ANNOTATION,
  TRUST_FILE,
} from "#api/names.ts";
import { type Observed, unknown } from "#base/observed.ts";
import { type CertificateFacts, factsOf, textIn } from "#certificates/facts.ts";
import { whyTooMuch } from "#certificates/limits.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { asSigner, namerOf } from "#certificates/trust.ts";
import { passwordTrouble } from "#etcd/auth.ts";
import { controllerOf, type Pod, type Secret } from "#kube/kinds.ts";
import { currentPods, hostnameOf, isOver } from "#kube/pod.ts";
import type { BindingFacts } from "#user/snapshot.ts";

/** The key of a binding Secret that holds the password. */
export const PASSWORD_KEY = "password";

/**
 * Largest binding that is kept in memory whole, in characters of base64. The operator writes at most about 100 kB (two
 * bundles of 32 KiB, twice); anything larger was written by others. Larger, and each EtcdUser costs more memory.
 */
const MAX_BINDING_LENGTH = 262_144;
/** Largest number of keys of a binding. The operator writes eleven. */
const MAX_BINDING_KEYS = 64;
/**
 * Keys that are read from a binding that is too large, each up to half of that length. The operator writes the others
 * again.
 */
const ESSENTIAL_KEYS: readonly string[] = [PASSWORD_KEY, CERTIFICATE_FILE, KEY_FILE, TRUST_FILE];

/** The Secret, reduced to its essential keys when it is too large. */
function bounded(secret: Secret): Secret {
  const entries = Object.entries(secret.data ?? {});
  const length = entries.reduce((sum, [, text]) => sum + text.length, 0);
  if (entries.length <= MAX_BINDING_KEYS && length <= MAX_BINDING_LENGTH) return secret;
  const kept = entries.filter(([key, text]) => ESSENTIAL_KEYS.includes(key) && text.length <= MAX_BINDING_LENGTH / 2);
  return { ...secret, data: Object.fromEntries(kept) };
}

/** The facts of a binding Secret, without its password and key. */
export function bindingFactsOf(given: Secret): BindingFacts {
  const secret = bounded(given);
  const { name, uid, resourceVersion, annotations = {} } = secret.metadata;
  const open = Object.keys(secret.data ?? {}).filter((key) => key !== PASSWORD_KEY && key !== KEY_FILE);
  const isPaired = [CERTIFICATE_FILE, KEY_FILE].some((key) => textIn(secret, key) !== "");
  const madeAtMs = Date.parse(annotations[ROTATED_AT_ANNOTATION] ?? "");
  return {
    name,
    uid,
    resourceVersion,
    ownerUid: controllerOf(secret)?.uid,
    texts: Object.fromEntries(open.map((key) => [key, textIn(secret, key)])),
    hasPassword: textIn(secret, PASSWORD_KEY) !== "",
    passwordTrouble: passwordTrouble(textIn(secret, PASSWORD_KEY)),
    trustIds: whyTooMuch(secret) === undefined ? [...new Set(parsedIn(textIn(secret, TRUST_FILE)).map(idOf))] : [],
    certificate: isPaired ? factsOf(secret, "leaf") : undefined,
    rotatedAtMs: Number.isNaN(madeAtMs) ? undefined : madeAtMs,
    rotatedFor: annotations[ROTATED_FOR_ANNOTATION],
    given: givenText(secret.metadata),
  };
}

/** Whether the member trusts a CA by its pod's annotation. */
function trusts(isNamedIn: ReturnType<typeof namerOf>, { metadata }: Pod): boolean {
  return isNamedIn(metadata.annotations?.[CLIENT_TRUST_ANNOTATION] ?? "");
}

/**
 * The current pod of each existing member. A terminating pod on a lost node may already have a successor, or its member
 * may be removed. Such a pod would otherwise count for ever with the CAs that it trusted.
 * @param isMember whether there is an EtcdPeer of this name
 */
export function memberPods(pods: readonly Pod[], isMember: (name: string) => boolean): readonly Pod[] {
  return [...currentPods(pods)].flatMap(([name, pod]) => (isMember(name) ? pod : []));
}

/**
 * Pods without those that have ended, such as evicted ones: they would count for ever with the CAs that they trusted.
 */
function runningPods(pods: readonly Pod[]): readonly Pod[] {
  return pods.filter((pod) => !isOver(pod));
}

/** Names of the members that do not trust the signer; empty when the signer is not known. */
export function membersRejecting(
  pods: readonly Pod[],
  signer: CertificateFacts,
  isAuthority: boolean,
): readonly string[] {
  const isNamedIn = namerOf(isAuthority ? asSigner(signer) : signer);
  if (!isNamedIn(signer.trust)) return [];
  const doubting = runningPods(pods).filter((pod) => !trusts(isNamedIn, pod));
  return doubting.map(hostnameOf);
}

/**
 * The CA, unless it is not among those that members' certificates are signed by: its certificates would not work. That
 * is the case when a user has replaced the CA in its Secret.
 * @param trust the CAs of members' certificates; undefined: not known yet
 */
export function namedAmong(trust: string | undefined, signer: Observed<CertificateFacts>): Observed<CertificateFacts> {
  if (trust === undefined || signer.is !== "present") return signer;
  // A CA that is not in its own bundle is unusable, which is reported elsewhere.
  const isNamedIn = namerOf(asSigner(signer.value));
  if (isNamedIn(trust) || !isNamedIn(signer.value.trust)) return signer;
  return unknown(`Secret ${signer.value.secretName} holds a CA that has not signed the members' certificates`);
}

/** Whether some member trusts the certificate. */
export function isBelieved(pods: readonly Pod[], certificate: CertificateFacts | undefined): boolean {
  if (certificate === undefined) return false;
  const isNamedIn = namerOf(certificate);
  return runningPods(pods).some((pod) => trusts(isNamedIn, pod));
}
