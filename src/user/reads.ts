import { bindingCertificateName, bindingName, clientAuthorityName } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import type { Clock } from "#base/clock.ts";
import { fingerprint } from "#base/hash.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { type CertificateFacts, factsOf } from "#certificates/facts.ts";
import { isIssued } from "#certificates/request.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  CERTIFICATES,
  type Certificate,
  controllerOf,
  type KubeObject,
  type Ref,
  type Resource,
  SECRETS,
  type Secret,
} from "#kube/kinds.ts";
import { ofUsualSize } from "#kube/object-size.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import { isNamedOtherwise, issuerOf } from "#user/credentials.ts";
import { bindingFactsOf } from "#user/facts.ts";
import type { UserSnapshot } from "#user/snapshot.ts";

// Why are Secrets read by name, and not watched? A watch needs the right to read all Secrets of a namespace.
// How often are they read?
//   Once in four minutes. A missing or unusable Secret is read with almost each observation at first. Later it is read
//   once a minute: an issuer may be broken for days, for a hundred users. A Secret that the operator has just written
//   is read at once. The CA of a cluster is read once for all its users, and again when the certificates in the
//   EtcdCluster's status change.

/** Age in milliseconds after which an unused answer is dropped; answers in use are read far more often. */
const KEPT_MS = 60 * 60_000;
/** Age in milliseconds up to which an answer is used. */
const FRESH_MS = 4 * 60_000;
/**
 * Bounds, in milliseconds, of the age up to which the answer about a missing or unusable object is used. The age is a
 * tenth of the time for which the object has been so.
 */
const ABSENT_MS = { first: 2_000, most: 60_000 };

type What = "binding" | "issued" | "request";
type Found = Pick<UserSnapshot, "binding" | "signer" | "isIssuedTaken" | "request">;

interface Known<T> {
  readonly answer: Observed<T>;
  readonly atMs: number;
  /** Since when the object is missing or unusable; undefined when it is usable. */
  readonly lackingSinceMs: number | undefined;
  /** What the answer depends on; it is outdated when this text differs. */
  readonly of: string;
}

/** Cache of the facts in users' Secrets, empty when the process starts. Passwords and keys are not kept. */
export class BindingReads {
  readonly #kube: Pick<KubeClient, "find">;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known<unknown>>();
  #sweptMs = Number.NEGATIVE_INFINITY;

  constructor(kube: Pick<KubeClient, "find">, clock: Clock) {
    this.#kube = kube;
    this.#clock = clock;
  }

  /** @throws OperatorError Cancelled */
  async look(user: EtcdUser, cluster: EtcdCluster, signal: AbortSignal): Promise<Found> {
    const { namespace, name, uid } = user.metadata;
    const text = (what: What) => `${what} ${keyText({ namespace, name })}`;
    const issuer = issuerOf(cluster);
    const isOwn = (object: KubeObject) => controllerOf(object)?.uid === uid;
    const isDone = (request: Certificate) => isOwn(request) && isIssued(request);
    const bindingRef = { namespace, name: bindingName(name) };
    const [binding, issued, request] = await Promise.all([
      this.#read(text("binding"), uid, SECRETS, bindingRef, bindingFactsOf, isOwn, signal),
      issuer === "Operator" ? this.#authority(cluster, signal) : this.#issued(user, cluster, signal),
      issuer === "CertManager"
        ? this.#read(text("request"), uid, CERTIFICATES, certificateOf(user), (each) => each, isDone, signal)
        : absent,
    ]);
    // A Secret that cert-manager has not filled for this user has another owner.
    const isIssuedTaken =
      issuer === "CertManager" &&
      issued.is === "present" &&
      issued.value.certificateName !== bindingCertificateName(name);
    return { binding, signer: isIssuedTaken ? absent : issued, isIssuedTaken, request };
  }

  /**
   * Drops the answers of a user after a write or a mismatch.
   * @param clusterName the cluster with the CA that signs for the user
   */
  forget(key: Key, clusterName?: string): void {
    if (clusterName !== undefined) this.#known.delete(`authority ${key.namespace}/${clusterName}`);
    for (const what of ["binding", "issued", "request"] satisfies What[]) this.#known.delete(`${what} ${keyText(key)}`);
  }

  async #authority(cluster: EtcdCluster, signal: AbortSignal): Promise<Observed<CertificateFacts>> {
    const { namespace, name, uid } = cluster.metadata;
    const version = fingerprint([uid, cluster.status?.tls?.certificates ?? []]);
    const ref = { namespace, name: clientAuthorityName(name) };
    const found = await this.#read(
      `authority ${namespace}/${name}`,
      version,
      SECRETS,
      ref,
      (secret) => factsOf(secret, "authority"),
      (_, { ownerUid, trouble }) => ownerUid === uid && trouble === undefined,
      signal,
    );
    // A CA in a Secret with another owner is not used.
    return found.is === "present" && found.value.ownerUid !== uid ? absent : found;
  }

  async #issued(user: EtcdUser, cluster: EtcdCluster, signal: AbortSignal): Promise<Observed<CertificateFacts>> {
    if (issuerOf(cluster) === undefined) return absent;
    const { namespace, name, uid } = user.metadata;
    const ref = certificateOf(user);
    const key = `issued ${keyText({ namespace, name })}`;
    const isFilled = (_: Secret, facts: CertificateFacts) =>
      facts.certificateName === ref.name && facts.trouble === undefined && !isNamedOtherwise(user, cluster, facts);
    return await this.#read(key, uid, SECRETS, ref, (secret) => factsOf(secret, "leaf"), isFilled, signal);
  }

  /** @param isOfUse whether the object is usable; an unusable one is read as often as a missing one */
  async #read<T extends KubeObject, Facts>(
    text: string,
    of: string,
    resource: Resource<T>,
    ref: Ref,
    factsIn: (object: T) => Facts,
    isOfUse: (object: T, facts: Facts) => boolean,
    signal: AbortSignal,
  ): Promise<Observed<Facts>> {
    const known = this.#known.get(text) as Known<Facts> | undefined;
    const nowMs = this.#clock.monotonicMs();
    if (known !== undefined && known.of === of && nowMs - known.atMs < lastsMs(known)) return known.answer;
    const read = await this.#kube.find(resource, ref, { signal });
    const found = resource.plural === SECRETS.plural ? read : ofUsualSize(read); // of a Secret only facts are kept
    const answer = found.is === "present" ? present(factsIn(found.value)) : found;
    const atMs = this.#clock.monotonicMs();
    this.#sweep(atMs);
    const isSame = known?.of === of;
    const isUseful = found.is === "present" && answer.is === "present" && isOfUse(found.value, answer.value);
    const lackingSinceMs = isUseful ? undefined : ((isSame ? known.lackingSinceMs : undefined) ?? atMs);
    this.#known.set(text, { answer, atMs, lackingSinceMs, of });
    return answer;
  }

  /** Drops answers that are no longer used, such as those of deleted users and clusters. */
  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < KEPT_MS) return;
    this.#sweptMs = nowMs;
    for (const [text, { atMs }] of this.#known) if (nowMs - atMs >= KEPT_MS) this.#known.delete(text);
  }

  /** Number of answers in the cache. */
  get size(): number {
    return this.#known.size;
  }
}

/** How old the answer may be, in milliseconds. */
function lastsMs({ answer, atMs, lackingSinceMs }: Known<unknown>): number {
  if (answer.is === "unknown") return 0;
  if (lackingSinceMs === undefined) return FRESH_MS;
  return Math.min(Math.max((atMs - lackingSinceMs) / 10, ABSENT_MS.first), ABSENT_MS.most);
}

function certificateOf({ metadata: { namespace, name } }: EtcdUser) {
  return { namespace, name: bindingCertificateName(name) };
}
