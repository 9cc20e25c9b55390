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
import { authorityKeyOf, idOf, parsedIn } from "#certificates/pem.ts";
import { passwordTrouble } from "#etcd/auth.ts";
import { controllerOf, type Pod, type Secret } from "#kube/kinds.ts";
import { currentPods, hostnameOf, isOver } from "#kube/pod.ts";
import type { BindingFacts } from "#user/snapshot.ts";

/** The key of a binding Secret that holds the password. */
export const PASSWORD_KEY = "password";

/** All that a binding Secret says, and nothing of its password and key. */
export function bindingFactsOf(secret: Secret): BindingFacts {
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
    trustIds: [...new Set(parsedIn(textIn(secret, TRUST_FILE)).map(idOf))],
    certificate: isPaired ? factsOf(secret, "leaf") : undefined,
    rotatedAtMs: Number.isNaN(madeAtMs) ? undefined : madeAtMs,
    rotatedFor: annotations[ROTATED_FOR_ANNOTATION],
  };
}

/** The authority by which somebody is believed: the one that signs, or that has signed. */
function authorityIn({ fingerprint, signerId, trust }: CertificateFacts, isAuthority: boolean) {
  const id = isAuthority ? fingerprint : signerId;
  return parsedIn(trust).find((each) => idOf(each) === id);
}

/** Whether a member believes who shows what it signs, or has signed. What a member trusts stands on its pod. */
function believerOf(signer: CertificateFacts, isAuthority: boolean): ((pod: Pod) => boolean) | undefined {
  const authority = authorityIn(signer, isAuthority);
  if (authority === undefined) return undefined;
  const key = authorityKeyOf(authority);
  return ({ metadata }) =>
    parsedIn(metadata.annotations?.[CLIENT_TRUST_ANNOTATION] ?? "").some((each) => authorityKeyOf(each) === key);
}

/**
 * Of each member the pod that counts. What cannot end, since its node is lost, may be followed by another pod, or its member be taken away: it would
 * trust for ever whom members trusted then.
 * @param isMember whether there is an EtcdPeer of this name
 */
export function memberPods(pods: readonly Pod[], isMember: (name: string) => boolean): readonly Pod[] {
  return [...currentPods(pods)].flatMap(([name, pod]) => (isMember(name) ? pod : []));
}

/** What is left on record of a pod that was evicted is no member, and would trust for ever whom members trusted then. */
function membersIn(pods: readonly Pod[]): readonly Pod[] {
  return pods.filter((pod) => !isOver(pod));
}

/** Members that would not believe whom it signs, or has signed, by name. */
export function doubtersOf(pods: readonly Pod[], signer: CertificateFacts, isAuthority: boolean): readonly string[] {
  const believes = believerOf(signer, isAuthority);
  if (believes === undefined) return [];
  const doubting = membersIn(pods).filter((pod) => !believes(pod));
  return doubting.map(hostnameOf);
}

/**
 * The authority, unless it is none of those by whom members are known: what it signs would be of no use from its first day on. So it is where somebody has
 * put another authority into its Secret, alone.
 * @param trust by whom members are known; undefined: that is not known yet
 */
export function namedAmong(trust: string | undefined, signer: Observed<CertificateFacts>): Observed<CertificateFacts> {
  if (trust === undefined || signer.is !== "present") return signer;
  const authority = authorityIn(signer.value, true);
  if (authority === undefined) return signer;
  const key = authorityKeyOf(authority);
  if (parsedIn(trust).some((each) => authorityKeyOf(each) === key)) return signer;
  return unknown(`Secret ${signer.value.secretName} holds another authority than those by whom members are known`);
}

/** Whether some member believes who shows this certificate. */
export function isBelieved(pods: readonly Pod[], certificate: CertificateFacts | undefined): boolean {
  const believes = certificate && believerOf(certificate, false);
  return believes !== undefined && membersIn(pods).some(believes);
}
