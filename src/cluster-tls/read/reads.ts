import { trustConfigMapName } from "#api/names.ts";
import { areClientsVerified, operatorSecretName, providerOf } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { isSameData } from "#base/hash.ts";
import { type Observed, present } from "#base/observed.ts";
import { mayConnectWith } from "#certificates/consent.ts";
import { type CertificateFacts, factsOf } from "#certificates/facts.ts";
import type { Keyring } from "#certificates/keyring.ts";
import { missingRightText } from "#certificates/missing-right.ts";
import { MINUTELY_MS } from "#cluster/observe/rest.ts";
import type {
  ClusterSnapshot,
  LeafPurpose,
  SeenCertificate,
  SeenCertificates,
  SeenRequest,
} from "#cluster/snapshot.ts";
import { membersRejecting, mergeBundles, secretsInUse, trustInUse } from "#cluster-tls/check/trusted.ts";
import { withPreviousTls } from "#cluster-tls/effective/previous.ts";
import type { KubeClient } from "#kube/client.ts";
import { CERTIFICATES, CONFIG_MAPS, type ConfigMap, type KubeObject, SECRETS, type Secret } from "#kube/kinds.ts";
import { ofUsualSize } from "#kube/object-size.ts";
import { isServed } from "#kube/served.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import {
  ABSENT_MS,
  type Answer,
  IN_THE_WAY_MS,
  isInTheWay,
  isMissedByAnotherName,
  isOfAnother,
  type Known,
  lastsMs,
  NO_CLIENT_SECRET,
  REFUSED_MS,
  saysSame,
  seenIn,
  signerIn,
  UNMADE_MS,
} from "./answers.ts";
import {
  type Given,
  isAwaited,
  isMadeHere,
  isPurpose,
  isRequest,
  nameOf,
  purposeOf,
  type What,
  wantedOf,
} from "./objects.ts";
import { secretNameOf, sideOf } from "./purposes.ts";
import { contentProblem, isInTime, whyWrongName } from "./usable.ts";

// Why are Secrets read by name, and not watched like everything else?
//   The right to watch covers all Secrets of a namespace. By name the operator reads only those of its clusters.
// How often are they read?
// - One object of a cluster a minute, the one that was read longest ago.
// - An object that is about to expire, is not suitable, or that cert-manager does not renew: once a minute.
// - A missing object that others have to create, or its source: at almost every reconcile.
// - The operator's own object that is missing or in the way: every 10 s.
// - One of all objects that it may not read: every 10 s.
// - An object that the operator has written itself is not read: the API server's response contains it.

/** How long the answer is valid whether cert-manager's API is installed, in milliseconds. */
const SERVED_MS = 5 * 60_000;

interface Memory {
  /** The input of the last observation. */
  given: Given;
  readonly known: Map<What, Known>;
  /** When each pod was first seen, by its uid. */
  readonly pods: Map<string, number>;
  /** The operator's client certificate, as it was when the keyring learnt it. */
  learnt: SeenCertificate | undefined;
  /** When an object was last read only because its turn had come. */
  restedMs: number;
  /** How often a read had a new result or an error. */
  news: number;
}

/** A cache of the certificates as the API server returned them. It is empty after a restart. */
export class CertificateReads {
  readonly #kube: Pick<KubeClient, "find" | "raw">;
  readonly #clock: Clock;
  readonly #keyring: Keyring;
  readonly #clusters = new Map<string, Memory>();
  #served: { readonly is: Observed<true>; readonly atMs: number } | undefined;

  constructor(kube: Pick<KubeClient, "find" | "raw">, clock: Clock, keyring: Keyring) {
    this.#kube = kube;
    this.#clock = clock;
    this.#keyring = keyring;
  }

  /**
   * Observes the certificates of the cluster.
   * @returns `undefined` when the cluster has no TLS
   * @throws OperatorError Cancelled
   */
  async look(
    cluster: EtcdCluster,
    members: Pick<ClusterSnapshot, "peers" | "pods">,
    signal: AbortSignal,
  ): Promise<SeenCertificates | undefined> {
    const previous = withPreviousTls(cluster, members);
    const given: Given = { cluster, previous, members };
    const wanted = wantedOf(given);
    const { namespace, name, deletionTimestamp } = cluster.metadata;
    const text = keyText({ namespace, name });
    if (wanted.length === 0) {
      this.forget({ namespace, name });
      return undefined;
    }
    const memory = this.#clusters.get(text) ?? {
      given,
      known: new Map(),
      pods: new Map(),
      learnt: undefined,
      restedMs: Number.NEGATIVE_INFINITY,
      news: 0,
    };
    for (const [what, { answer }] of [...memory.known])
      if (
        !wanted.includes(what) ||
        isOfAnother(given, what, answer) ||
        isMissedByAnotherName(memory.given, given, what, answer)
      )
        memory.known.delete(what);
    memory.given = given;
    this.#clusters.set(text, memory);
    if (deletionTimestamp === undefined) {
      this.#handOver(given, memory);
      await Promise.all(this.#stale(given, memory, wanted).map((what) => this.#read(given, memory, what, signal)));
    }
    this.#keyring.alsoTrust({ namespace, name }, additionalCas(given, memory));
    return { ...seenIn(memory.known, this.#clock.monotonicMs()), ...this.#podsFor(memory, members) };
  }

  /** Counts changes in what was read: the same number means that nothing has changed. */
  newsOf(key: Key): number {
    return this.#clusters.get(keyText(key))?.news ?? 0;
  }

  /** How long each pod has been known. */
  #podsFor({ pods: since }: Memory, { pods }: Pick<ClusterSnapshot, "pods">): Pick<SeenCertificates, "podsForMs"> {
    const nowMs = this.#clock.monotonicMs();
    const uids = new Set([...pods.values()].map(({ metadata }) => metadata.uid));
    for (const uid of [...since.keys()]) if (!uids.has(uid)) since.delete(uid);
    for (const uid of uids) if (!since.has(uid)) since.set(uid, nowMs);
    if (pods.size === 0) return {};
    return {
      podsForMs: new Map([...pods].map(([name, { metadata }]) => [name, nowMs - (since.get(metadata.uid) ?? nowMs)])),
    };
  }

  /** Drops everything that is known of the cluster. */
  forget({ namespace, name }: Key): void {
    this.#clusters.delete(keyText({ namespace, name }));
    this.#keyring.forget({ namespace, name });
  }

  /** Marks the object as outdated, after it was written. */
  hasChanged(key: Key, what: What): void {
    const known = this.#clusters.get(keyText(key))?.known;
    for (const each of knownAs(what)) {
      const last = known?.get(each);
      if (last !== undefined) known?.set(each, { ...last, atMs: Number.NEGATIVE_INFINITY, refused: undefined });
    }
  }

  /**
   * Notes an object as the API server stored it, so that it need not be read. The operator's own certificate is read
   * all the same: the keyring learns it only there. The same write may concern an object that is in use under another
   * name.
   */
  hasWritten(key: Key, what: What, object: KubeObject): void {
    const memory = this.#clusters.get(keyText(key));
    if (memory === undefined || what === "operator" || isRequest(what)) return;
    const isPair = what !== "trustMap";
    const answer = present(isPair ? seenFrom(object as Secret, what) : (object as ConfigMap)) as Answer;
    for (const each of knownAs(what)) if (!isOfAnother(memory.given, each, answer)) this.#note(memory, each, answer);
  }

  /** Reads the operator's certificate again when it is to use another Secret, whether or not that has changed. */
  #handOver({ cluster }: Given, { known }: Memory): void {
    const { namespace, name } = cluster.metadata;
    const identity = this.#keyring.identityOf({ namespace, name });
    if (identity === undefined || identity.secretName === operatorSecretName(cluster)) return;
    const last = known.get("operator");
    if (last !== undefined && this.#clock.monotonicMs() - last.atMs >= ABSENT_MS)
      known.set("operator", { ...last, atMs: Number.NEGATIVE_INFINITY });
  }

  /**
   * No member answers, perhaps because this object is outdated: it is read again at the next observation, at most once
   * a minute.
   */
  doubt(key: Key, what: What): void {
    const readAtMs = this.#clusters.get(keyText(key))?.known.get(what)?.atMs;
    if (readAtMs !== undefined && this.#clock.monotonicMs() - readAtMs >= MINUTELY_MS) this.hasChanged(key, what);
  }

  #stale(given: Given, memory: Memory, wanted: readonly What[]): readonly What[] {
    const nowMs = this.#clock.monotonicMs();
    const ageOf = (what: What) => nowMs - (memory.known.get(what)?.atMs ?? Number.NEGATIVE_INFINITY);
    // The Certificate's status matters while its Secret is missing.
    const wallMs = this.#clock.wallMs();
    const goodMs = (what: What): number => {
      const answer = memory.known.get(what)?.answer;
      if (isRequest(what) && memory.known.get(purposeOf(what))?.answer.is === "absent") return ABSENT_MS;
      if (isInTheWay(given, what, answer)) return IN_THE_WAY_MS;
      if (answer?.is === "absent" && isMadeHere(given, what)) return UNMADE_MS;
      return lastsMs(answer, isAwaited(given, what) || this.#isLockedOut(given, what), wallMs);
    };
    const mayBeAsked = wanted.filter((what) => memory.known.get(what)?.refused === undefined);
    const due = [...mayBeAsked.filter((what) => ageOf(what) >= goodMs(what)), ...this.#triedAgain(memory, wanted)];
    if (nowMs - memory.restedMs < MINUTELY_MS) return due;
    // The order is by the time of the attempt: otherwise an object with a permanent error would take every turn.
    const askedMs = (what: What) => memory.known.get(what)?.askedMs ?? Number.NEGATIVE_INFINITY;
    const [oldest] = mayBeAsked.filter((what) => !due.includes(what)).toSorted((a, b) => askedMs(a) - askedMs(b));
    if (oldest === undefined || nowMs - askedMs(oldest) < MINUTELY_MS) return due;
    memory.restedMs = nowMs;
    return [...due, oldest];
  }

  /** The forbidden object that was tried longest ago: one attempt shows whether the right was granted for all. */
  #triedAgain({ known }: Memory, wanted: readonly What[]): readonly What[] {
    const all = wanted.flatMap((what) => {
      const last = known.get(what);
      return last?.refused === undefined ? [] : [{ what, askedMs: last.askedMs }];
    });
    const inOrder = all.toSorted((a, b) => a.askedMs - b.askedMs);
    const [first, last] = [inOrder.at(0), inOrder.at(-1)];
    if (first === undefined || last === undefined) return [];
    return this.#clock.monotonicMs() - last.askedMs < REFUSED_MS ? [] : [first.what];
  }

  /** Whether the operator has no certificate to connect with yet: members may start before it exists. */
  #isLockedOut({ cluster: { metadata, spec } }: Given, what: What): boolean {
    const { namespace, name } = metadata;
    return (
      what === "operator" &&
      providerOf(spec, sideOf(what)) === "Secret" &&
      this.#keyring.identityOf({ namespace, name }) === undefined
    );
  }

  async #read(given: Given, memory: Memory, what: What, signal: AbortSignal): Promise<void> {
    this.#note(memory, what, await this.#ask(given, memory, what, signal));
  }

  #note(memory: Memory, what: What, answer: Answer): void {
    const nowMs = this.#clock.monotonicMs();
    const last = memory.known.get(what);
    if (answer.is === "unknown") {
      memory.news += 1;
      // A forbidden object stays in the rotation until it can be read. Otherwise one with another error would take
      // every turn.
      const isRefused = missingRightText(answer.why) !== undefined || last?.refused !== undefined;
      const failure = { refused: isRefused ? answer.why : undefined, askedMs: nowMs };
      if (last === undefined || last.answer.is === "unknown")
        memory.known.set(what, { answer, atMs: nowMs, sinceMs: nowMs, signerSinceMs: nowMs, ...failure });
      // The last observation counts until the next successful read. The refusal is reported.
      else memory.known.set(what, { ...last, ...(isRefused ? { atMs: nowMs } : {}), ...failure });
      return;
    }
    if (last?.refused !== undefined) askForAll(memory);
    const isSame = last !== undefined && saysSame(last.answer, answer, this.#clock.wallMs());
    if (last === undefined || last.refused !== undefined || !isSameData(last.answer, answer)) memory.news += 1;
    const isSignedAlike = last !== undefined && signerIn(last.answer) === signerIn(answer);
    memory.known.set(what, {
      answer,
      atMs: nowMs,
      askedMs: nowMs,
      sinceMs: isSame ? last.sinceMs : nowMs,
      signerSinceMs: isSignedAlike ? last.signerSinceMs : nowMs,
    });
  }

  async #ask(given: Given, memory: Memory, what: What, signal: AbortSignal): Promise<Answer> {
    const { cluster, members } = given;
    const { namespace, name } = cluster.metadata;
    if (what === "trustMap")
      return ofUsualSize(await this.#kube.find(CONFIG_MAPS, { namespace, name: trustConfigMapName(name) }, { signal }));
    if (isRequest(what)) return await this.#askForRequest(cluster, purposeOf(what), signal);
    const secretName = nameOf(given, what);
    if (secretName === undefined) return { is: "absent" };
    const found = await this.#kube.find(SECRETS, { namespace, name: secretName }, { signal });
    // With provider Secret, applications usually get no certificate.
    if (found.is === "absent" && what === "clientSecret" && providerOf(cluster.spec, "client") === "Secret")
      return NO_CLIENT_SECRET;
    if (found.is !== "present") return found;
    const facts = seenFrom(found.value, what);
    // The keyring does not learn a certificate that is invalid, untrusted by members, or issued for another user: the
    // previous one may still work.
    const isShown = (what === "operator" || what === "previous operator") && secretName === operatorSecretName(cluster);
    const issuer = what === "previous operator" ? given.previous : cluster;
    const isOwn = issuer === undefined || whyWrongName(issuer, "operator", facts) === undefined;
    if (isShown && isOwn && isAccepted(cluster, members, facts) && mayConnectWith(cluster, facts)) {
      if (this.#isKept({ cluster: issuer ?? cluster, members }, memory.learnt, facts)) return present(facts);
      this.#keyring.learn({ namespace, name }, found.value);
      memory.learnt = facts;
    }
    return present(facts);
  }

  /**
   * Whether to keep the learnt certificate of this Secret: members accept it, but not the Secret's current one
   * (expired, not yet valid or unsuitable). If they accept neither, by this clock, the current one counts: the clock
   * may be wrong.
   */
  #isKept(
    { cluster, members }: Pick<Given, "cluster" | "members">,
    learnt: SeenCertificate | undefined,
    facts: SeenCertificate,
  ): boolean {
    if (learnt?.secretName !== facts.secretName || !areClientsVerified(cluster.spec)) return false;
    const takenAtMs = this.#clock.wallMs();
    const isTaken = (each: SeenCertificate) =>
      isInTime({ takenAtMs }, each) && contentProblem({ cluster }, "operator", each) === undefined;
    return isTaken(learnt) && !isTaken(facts) && isAccepted(cluster, members, learnt);
  }

  async #askForRequest(cluster: EtcdCluster, purpose: LeafPurpose, signal: AbortSignal): Promise<SeenRequest> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#served === undefined || this.#served.is.is === "unknown" || nowMs - this.#served.atMs >= SERVED_MS)
      this.#served = { is: await isServed(this.#kube, CERTIFICATES, { signal }), atMs: nowMs };
    if (this.#served.is.is === "unknown") return this.#served.is;
    if (this.#served.is.is === "absent") return { is: "notServed" };
    const { namespace } = cluster.metadata;
    const ref = { namespace, name: secretNameOf(cluster, purpose) ?? "" };
    return ofUsualSize(await this.#kube.find(CERTIFICATES, ref, { signal }));
  }
}

/** The roles under which an object may be known: requested, in use, or published to applications. */
function knownAs(what: What): readonly What[] {
  return isPurpose(what) ? [what, `previous ${what}`, "clientSecret"] : [what];
}

/** The observation of a Secret, dated now. */
function seenFrom(secret: Secret, what: What): SeenCertificate {
  return { ...factsOf(secret, what.endsWith("CA") ? "authority" : "leaf"), knownForMs: 0, signerForMs: 0 };
}

/** All forbidden objects are tried at the next observation: a right is usually granted for a whole namespace. */
function askForAll({ known }: Memory): void {
  for (const [what, last] of known)
    if (last.refused !== undefined) known.set(what, { ...last, atMs: Number.NEGATIVE_INFINITY, refused: undefined });
}

/**
 * CAs that the operator trusts in addition to those of its own Secret, in PEM: during a provider change, the CAs of
 * both sources.
 */
function additionalCas({ cluster, previous, members }: Given, { known }: Memory): string {
  if (previous === undefined || providerOf(cluster.spec, "client") === "None") return "";
  if (secretsInUse(members, "client").size === 0) return "";
  const server = known.get("server")?.answer;
  const shown = server?.is === "present" && "fingerprint" in server.value ? server.value.trust : "";
  return mergeBundles(...trustInUse(members, "client"), shown);
}

/** Whether all members accept this certificate, if they require one at all. */
function isAccepted(
  { spec }: EtcdCluster,
  members: Pick<ClusterSnapshot, "peers" | "pods">,
  facts: CertificateFacts,
): boolean {
  if (facts.trouble !== undefined || facts.signerId === undefined) return false;
  return !areClientsVerified(spec) || membersRejecting(members, "client", facts).length === 0;
}
