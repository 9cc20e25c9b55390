import { userNameOf } from "#api/etcd-names.ts";
import {
  APPLIED_HASH_ANNOTATION,
  BINDING_TYPE,
  bindingLabels,
  bindingName,
  CERTIFICATE_FILE,
  CLIENT_PORT,
  clientServiceName,
  clientUrl,
  OPERATOR,
  ROTATED_AT_ANNOTATION,
  ROTATED_FOR_ANNOTATION,
  TRUST_FILE,
} from "#api/names.ts";
import { clientScheme } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { isSameData } from "#base/hash.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { apiVersionOf, controllerOf, type Draft, type OwnerReference, SECRETS, type Secret } from "#kube/kinds.ts";
import {
  isIssuedOtherwise,
  isPairKept,
  issuerOf,
  madeForOf,
  pairDue,
  rotationAsked,
  rotationDue,
} from "#user/credentials.ts";
import { type BindingFacts, hasPassword, ownBinding, type UserSnapshot } from "#user/snapshot.ts";

/** Where the credentials of a binding are from. issue: signed by the authority. copy: from what cert-manager has made. */
export interface BindingWish {
  readonly because: string;
  readonly password: "new" | "keep" | "none";
  readonly pair: "issue" | "copy" | "keep" | "none";
  /** What it says to everybody. */
  readonly texts: Readonly<Record<string, string>>;
  /** Without what it holds. */
  readonly draft: Draft<Secret>;
}

/** What the binding Secret says to everybody; undefined while whom to trust is not known yet. */
export function bindingTexts(
  user: EtcdUser,
  cluster: EtcdCluster,
  trust: string | undefined,
): Readonly<Record<string, string>> | undefined {
  const { namespace, name } = cluster.metadata;
  const host = `${clientServiceName(name)}.${namespace}.svc`;
  const scheme = clientScheme(cluster);
  const url = clientUrl(host, scheme);
  const { keyPrefix } = user.spec;
  if (scheme === "https" && trust === undefined) return undefined;
  return {
    type: "etcd",
    provider: OPERATOR,
    host,
    port: String(CLIENT_PORT),
    uri: url,
    endpoints: url,
    username: userNameOf(user),
    ...(keyPrefix === undefined ? {} : { "key-prefix": keyPrefix }),
    // The same under the name that servicebinding.io knows.
    ...(scheme === "https" ? { [TRUST_FILE]: trust ?? "", certificates: trust ?? "" } : {}),
  };
}

/** What is to be written of the binding; undefined when it is as it should be, or cannot be made yet. */
export function bindingWish(snapshot: UserSnapshot): BindingWish | undefined {
  const { user, cluster, binding, trust } = snapshot;
  const texts = cluster && bindingTexts(user, cluster, trust);
  if (texts === undefined || cluster === undefined || binding.is === "unknown") return undefined;
  const own = ownBinding(snapshot);
  const pair = pairWish(snapshot, own);
  if (pair === undefined) return undefined;
  const password = passwordWish(snapshot, own);
  const because =
    own === undefined ? "it is not there" : (password.because ?? pair.because ?? whyOther(own, texts, snapshot));
  if (because === undefined) return undefined;
  const draft = draftOf(snapshot, own, { password: password.what, pair: pair.what });
  return { because, password: password.what, pair: pair.what, texts, draft };
}

/** The same, where all but whom to trust stays as it is. */
export function trustWish(snapshot: UserSnapshot): BindingWish | undefined {
  const { trust } = snapshot;
  const own = ownBinding(snapshot);
  // What says nobody is of a cluster that spoke no TLS.
  if (trust === undefined || own?.texts[TRUST_FILE] === undefined) return undefined;
  const { [CERTIFICATE_FILE]: _, ...others } = own.texts;
  if (isSameData(others[TRUST_FILE], trust)) return undefined;
  const kept = { password: own.hasPassword ? "keep" : "none", pair: own.certificate ? "keep" : "none" } as const;
  return {
    because: `it does not say what it should of ${TRUST_FILE}`,
    ...kept,
    texts: { ...others, [TRUST_FILE]: trust, certificates: trust },
    draft: draftOf(snapshot, own, kept),
  };
}

function whyOther(
  own: BindingFacts,
  texts: Readonly<Record<string, string>>,
  snapshot: UserSnapshot,
): string | undefined {
  const { [CERTIFICATE_FILE]: certificate, ...others } = own.texts;
  const isIssued = snapshot.cluster !== undefined && issuerOf(snapshot.cluster) !== undefined;
  const isPaired = isIssued || isPairKept(snapshot, own);
  if (!isPaired && certificate !== undefined) return "it has a certificate, and is to have none";
  if (!hasPassword(snapshot) && own.hasPassword) return "it has a password, and is to have none";
  const names = [...new Set([...Object.keys(texts), ...Object.keys(others)])];
  const differing = names.filter((name) => !isSameData(texts[name], others[name]));
  return differing.length === 0 ? undefined : `it does not say what it should of ${differing.join(", ")}`;
}

interface Part<What> {
  readonly what: What;
  readonly because?: string;
}

function passwordWish(snapshot: UserSnapshot, own: BindingFacts | undefined): Part<BindingWish["password"]> {
  if (!hasPassword(snapshot)) return { what: "none" };
  if (own === undefined || !own.hasPassword) return { what: "new", because: "it has no password" };
  const because = rotationDue(snapshot, own);
  return because === undefined ? { what: "keep" } : { what: "new", because };
}

/** @returns undefined when there is to be a pair, and there is none so far */
function pairWish(snapshot: UserSnapshot, own: BindingFacts | undefined): Part<BindingWish["pair"]> | undefined {
  const { cluster, takenAtMs, signer, doubters } = snapshot;
  const issuer = cluster && issuerOf(cluster);
  if (issuer === undefined) return { what: isPairKept(snapshot, own) ? "keep" : "none" };
  const isWhole = own?.certificate !== undefined && own.certificate.trouble === undefined;
  const present = isWhole ? ({ what: "keep" } as const) : undefined;
  if (signer.is !== "present" || signer.value.trouble !== undefined) return present;
  // What works is not replaced by what some member would not believe.
  const isWorking = isWhole && own.certificate.notAfterMs > takenAtMs;
  if (isWorking && doubters.length > 0) return present;
  if (issuer === "CertManager") {
    // What cert-manager has made for somebody else is not handed out.
    if (!isOwnRequest(snapshot) || isIssuedOtherwise(snapshot)) return present;
    const isCopied = isWhole && own.certificate?.fingerprint === signer.value.fingerprint;
    return isCopied ? present : { what: "copy", because: "cert-manager has issued another certificate" };
  }
  const because = own === undefined ? "it is not there" : pairDue(snapshot, own);
  return because === undefined ? present : { what: "issue", because };
}

function isOwnRequest({ user, request }: UserSnapshot): boolean {
  return request.is === "present" && controllerOf(request.value)?.uid === user.metadata.uid;
}

function draftOf(
  { user, cluster, takenAtMs }: UserSnapshot,
  own: BindingFacts | undefined,
  { password, pair }: Pick<BindingWish, "password" | "pair">,
): Draft<Secret> {
  const { namespace, name } = user.metadata;
  const asked = rotationAsked(user);
  const isNew = hasPassword({ user }) ? password === "new" : pair === "issue" || pair === "copy";
  const madeAtMs = isNew ? takenAtMs : own?.rotatedAtMs;
  const rotatedFor = isNew ? asked : own?.rotatedFor;
  // What is kept was made for what it says, whatever is wanted by now.
  const madeFor = pair === "keep" ? own?.certificate?.madeFor : cluster && madeForOf(user, cluster);
  return {
    apiVersion: apiVersionOf(SECRETS),
    kind: SECRETS.kind,
    metadata: {
      namespace,
      name: bindingName(name),
      labels: bindingLabels(name),
      annotations: {
        ...(madeAtMs === undefined ? {} : { [ROTATED_AT_ANNOTATION]: rfc3339(madeAtMs) }),
        ...(rotatedFor === undefined ? {} : { [ROTATED_FOR_ANNOTATION]: rotatedFor }),
        ...(madeFor === undefined || pair === "none" ? {} : { [APPLIED_HASH_ANNOTATION]: madeFor }),
      },
      ownerReferences: [ownedBy(user)],
    },
    type: BINDING_TYPE,
  };
}

/** The reference by which the garbage collector deletes the object with its EtcdUser. */
export function ownedBy({ metadata: { name, uid } }: EtcdUser): OwnerReference {
  const { kind } = ETCD_USERS;
  return { apiVersion: apiVersionOf(ETCD_USERS), kind, name, uid, controller: true, blockOwnerDeletion: true };
}
