import { userNameOf } from "#api/etcd-names.ts";
import { givenText, withGiven } from "#api/given-metadata.ts";
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
  ROTATE_CREDENTIALS_ANNOTATION,
  ROTATED_AT_ANNOTATION,
  ROTATED_FOR_ANNOTATION,
  TRUST_FILE,
} from "#api/names.ts";
import { rotationRequest } from "#api/rotation-request.ts";
import { isToSleep } from "#api/sleep.ts";
import { clientScheme } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { isSameData } from "#base/hash.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { asSigner, isSameSigner } from "#certificates/trust.ts";
import { apiVersionOf, controllerOf, type Draft, ownerReference, SECRETS, type Secret } from "#kube/kinds.ts";
import {
  isIssuedOtherwise,
  isNamedOtherwise,
  isPairKept,
  issuerOf,
  madeForOf,
  pairDue,
  renewalDue,
  rotationDue,
} from "#user/credentials.ts";
import { type BindingFacts, hasPassword, ownBinding, type UserSnapshot } from "#user/snapshot.ts";

/**
 * A write of the binding and the source of its credentials. issue: signed by the cluster's CA. copy: copied from
 * cert-manager's Secret.
 */
export interface BindingWish {
  readonly because: string;
  readonly password: "new" | "keep" | "none";
  readonly pair: "issue" | "copy" | "keep" | "none";
  /** The keys without password, certificate and key. */
  readonly texts: Readonly<Record<string, string>>;
  /** The Secret without its data. */
  readonly draft: Draft<Secret>;
}

/** The binding's keys without credentials; undefined while the CAs are not known yet. */
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
    // ca.crt again, under the name that servicebinding.io defines.
    ...(scheme === "https" ? { [TRUST_FILE]: trust ?? "", certificates: trust ?? "" } : {}),
  };
}

/** The write that the binding needs; undefined when it is up to date, or cannot be created yet. */
export function bindingWish(snapshot: UserSnapshot): BindingWish | undefined {
  const { user, cluster, binding, trust } = snapshot;
  const texts = cluster && bindingTexts(user, cluster, trust);
  if (texts === undefined || cluster === undefined || binding.is === "unknown") return undefined;
  const own = ownBinding(snapshot);
  const pair = pairWish(snapshot, own);
  if (pair === undefined) return undefined;
  const password = passwordWish(snapshot, own);
  const because =
    own === undefined ? "it does not exist" : (password.because ?? pair.because ?? whyOther(own, texts, snapshot));
  if (because === undefined) return undefined;
  const draft = draftOf(snapshot, own, { password: password.what, pair: pair.what });
  return { because, password: password.what, pair: pair.what, texts, draft };
}

/** The write that updates only the CAs of the binding; undefined when they are up to date. */
export function trustWish(snapshot: UserSnapshot): BindingWish | undefined {
  const { trust } = snapshot;
  const own = ownBinding(snapshot);
  // A binding without ca.crt was created for a cluster without TLS.
  if (trust === undefined || own?.texts[TRUST_FILE] === undefined) return undefined;
  const { [CERTIFICATE_FILE]: _, ...others } = own.texts;
  if (isSameData(others[TRUST_FILE], trust)) return undefined;
  const kept = { password: own.hasPassword ? "keep" : "none", pair: own.certificate ? "keep" : "none" } as const;
  return {
    because: `${TRUST_FILE} is outdated`,
    ...kept,
    texts: { ...others, [TRUST_FILE]: trust, certificates: trust },
    draft: draftOf(snapshot, own, kept),
  };
}

/**
 * The write that renews the certificate under the same name. All other keys stay, and missing ones are added.
 * `undefined` when no renewal is due.
 */
export function renewalWish(snapshot: UserSnapshot): BindingWish | undefined {
  const { user, cluster, signer, takenAtMs, trust } = snapshot;
  const own = ownBinding(snapshot);
  const certificate = own?.certificate;
  if (own === undefined || certificate === undefined || cluster === undefined || signer.is !== "present")
    return undefined;
  if (!mayBeRenewed(snapshot, own)) return undefined;
  const isCopied = pairWish(snapshot, own)?.what === "copy";
  // Without a password, a certificate with another name would be another user in etcd.
  const isSameUser = own.hasPassword || !isNamedOtherwise(user, cluster, certificate);
  const isIssued = issuerOf(cluster) === "Operator" && isSameUser;
  const due = isIssued ? renewalDue(cluster, takenAtMs, certificate, signer.value) : undefined;
  const because = isCopied ? "cert-manager has renewed its certificate" : due;
  if (because === undefined) return undefined;
  const password = own.hasPassword ? "keep" : "none";
  const pair = isCopied ? "copy" : "issue";
  const { [CERTIFICATE_FILE]: _, ...kept } = own.texts;
  // Of a binding that is too large only the essential keys are read.
  const texts = { ...bindingTexts(user, cluster, trust), ...kept };
  return { because, password, pair, texts, draft: draftOf(snapshot, own, { password, pair }) };
}

/**
 * Whether the signer may renew the certificate without a restart of members: it signed the current one, or every member
 * trusts it. While the cluster sleeps, no pod shows which CAs members trust, so only the CA of the current certificate
 * may renew it. With cert-manager the signer is the certificate that it has issued.
 */
export function mayBeRenewed(
  { cluster, signer, doubters }: Pick<UserSnapshot, "cluster" | "signer" | "doubters">,
  { certificate }: Pick<BindingFacts, "certificate">,
): boolean {
  if (cluster === undefined || signer.is !== "present" || signer.value.trouble !== undefined) return false;
  if (certificate === undefined || certificate.trouble !== undefined) return false;
  const signed = issuerOf(cluster) === "Operator" ? asSigner(signer.value) : signer.value;
  if (isSameSigner(signed, certificate)) return true;
  return signed.signerId !== undefined && doubters.length === 0 && !isToSleep(cluster);
}

function whyOther(
  own: BindingFacts,
  texts: Readonly<Record<string, string>>,
  snapshot: UserSnapshot,
): string | undefined {
  const { [CERTIFICATE_FILE]: certificate, ...others } = own.texts;
  const isIssued = snapshot.cluster !== undefined && issuerOf(snapshot.cluster) !== undefined;
  const isPaired = isIssued || isPairKept(snapshot, own);
  if (!isPaired && certificate !== undefined) return "it has a certificate that is no longer needed";
  if (!hasPassword(snapshot) && own.hasPassword) return "it has a password that is no longer needed";
  const names = [...new Set([...Object.keys(texts), ...Object.keys(others)])];
  const differing = names.filter((name) => !isSameData(texts[name], others[name]));
  if (differing.length > 0) return `these keys are outdated: ${differing.join(", ")}`;
  const isGiven = own.given === givenText(givenOf(snapshot.user));
  return isGiven ? undefined : "its labels or annotations differ from spec.bindingSecret";
}

/** Labels of the binding, and the annotations that the spec gives it. */
function givenOf({ metadata, spec }: EtcdUser) {
  return withGiven(bindingLabels(metadata.name), spec.bindingSecret?.metadata);
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
  // A valid certificate is not replaced by one that some member does not trust.
  const isWorking = isWhole && own.certificate.notAfterMs > takenAtMs;
  if (isWorking && doubters.length > 0) return present;
  if (issuer === "CertManager") {
    // A certificate that cert-manager has issued for another request is not used.
    if (!isOwnRequest(snapshot) || isIssuedOtherwise(snapshot)) return present;
    const isCopied = isWhole && own.certificate?.fingerprint === signer.value.fingerprint;
    return isCopied ? present : { what: "copy", because: "cert-manager has issued another certificate" };
  }
  const because = own === undefined ? "it does not exist" : pairDue(snapshot, own);
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
  const asked = rotationRequest(user, ROTATE_CREDENTIALS_ANNOTATION);
  const isNew = hasPassword({ user }) ? password === "new" : pair === "issue" || pair === "copy";
  const madeAtMs = isNew ? takenAtMs : own?.rotatedAtMs;
  const rotatedFor = isNew ? asked : own?.rotatedFor;
  // A kept certificate keeps the fingerprint of its own order.
  const madeFor = pair === "keep" ? own?.certificate?.madeFor : cluster && madeForOf(user, cluster);
  const { labels, annotations } = givenOf(user);
  return {
    apiVersion: apiVersionOf(SECRETS),
    kind: SECRETS.kind,
    metadata: {
      namespace,
      name: bindingName(name),
      labels,
      annotations: {
        ...annotations,
        ...(madeAtMs === undefined ? {} : { [ROTATED_AT_ANNOTATION]: rfc3339(madeAtMs) }),
        ...(rotatedFor === undefined ? {} : { [ROTATED_FOR_ANNOTATION]: rotatedFor }),
        ...(madeFor === undefined || pair === "none" ? {} : { [APPLIED_HASH_ANNOTATION]: madeFor }),
      },
      ownerReferences: [ownerReference(ETCD_USERS, user)],
    },
    type: BINDING_TYPE,
  };
}
