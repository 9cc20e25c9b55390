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
import { idOf, parsedIn } from "#certificates/pem.ts";
import { asSigner, namerOf } from "#certificates/trust.ts";
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

/** Whether the member believes whom this tells. What a member trusts stands on its pod. */
function believes(isNamedIn: ReturnType<typeof namerOf>, { metadata }: Pod): boolean {
  return isNamedIn(metadata.annotations?.[CLIENT_TRUST_ANNOTATION] ?? "");
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

/** Members that would not believe whom it signs, or has signed, by name; nobody when it is not known who that is. */
export function doubtersOf(pods: readonly Pod[], signer: CertificateFacts, isAuthority: boolean): readonly string[] {
  const isNamedIn = namerOf(isAuthority ? asSigner(signer) : signer);
  if (!isNamedIn(signer.trust)) return [];
  const doubting = membersIn(pods).filter((pod) => !believes(isNamedIn, pod));
  return doubting.map(hostnameOf);
}

/**
 * The authority, unless it is none of those by whom members are known: what it signs would be of no use from its first day on. So it is where somebody has
 * put another authority into its Secret, alone.
 * @param trust by whom members are known; undefined: that is not known yet
 */
export function namedAmong(trust: string | undefined, signer: Observed<CertificateFacts>): Observed<CertificateFacts> {
  if (trust === undefined || signer.is !== "present") return signer;
  // What does not name itself is of no use, and told as that.
  const isNamedIn = namerOf(asSigner(signer.value));
  if (isNamedIn(trust) || !isNamedIn(signer.value.trust)) return signer;
  return unknown(`Secret ${signer.value.secretName} holds another authority than those by whom members are known`);
}

/** Whether some member believes who shows this certificate. */
export function isBelieved(pods: readonly Pod[], certificate: CertificateFacts | undefined): boolean {
  if (certificate === undefined) return false;
  const isNamedIn = namerOf(certificate);
  return membersIn(pods).some((pod) => believes(isNamedIn, pod));
}
