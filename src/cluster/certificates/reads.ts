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
import {
  ABSENT_MS,
  type Answer,
  IN_THE_WAY_MS,
  isInTheWay,
  isMissedByAnotherName,
  isOfAnother,
  type Known,
  lastsMs,
  NOT_HANDED_OUT,
  REFUSED_MS,
  saysSame,
  seenIn,
  signerIn,
  UNMADE_MS,
} from "#cluster/certificates/answers.ts";
import { withFormerTls } from "#cluster/certificates/former.ts";
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
} from "#cluster/certificates/objects.ts";
import { secretNameOf, sideOf } from "#cluster/certificates/purposes.ts";
import { secretsInUse, trustInUse, united, withoutBelief } from "#cluster/certificates/trusted.ts";
import { isInTime, lackOf, whyStrangers } from "#cluster/certificates/usable.ts";
import { MINUTELY_MS } from "#cluster/rest.ts";
import type {
  ClusterSnapshot,
  LeafPurpose,
  SeenCertificate,
  SeenCertificates,
  SeenRequest,
} from "#cluster/snapshot.ts";
import type { KubeClient } from "#kube/client.ts";
import { CERTIFICATES, CONFIG_MAPS, type ConfigMap, type KubeObject, SECRETS, type Secret } from "#kube/kinds.ts";
import { isServed } from "#kube/served.ts";
import { type Key, keyText } from "#runtime/controller.ts";

// Why are Secrets read by their names, and not watched as everything else?
//   Who may watch them sees all of a namespace. By name the operator sees those of its clusters, and nobody else's.
// How often? One object of a cluster in a minute, the one that was asked for longest ago; besides, what is about to end, or is not as it should
//   be, and what cert-manager does not renew, once in a minute each; what is not there, with almost each look where others have to make it, or to make what it is copied from; of the operator's own, what is not there or in the way, six times in a minute; of all that it may not read, one as often. What we have written ourselves the API server has told us.

/** How long it counts whether cert-manager's kind is served, in milliseconds. */
const SERVED_MS = 5 * 60_000;

interface Memory {
  /** Of the last look. */
  given: Given;
  readonly known: Map<What, Known>;
  /** When each pod was first seen, by its uid. */
  readonly pods: Map<string, number>;
  /** With what the operator connects, as it was when that was learnt. */
  learnt: SeenCertificate | undefined;
  /** When something was read at rest. */
  restedMs: number;
  /** How often something was read that was not known before, or could not be read. */
  news: number;
}

/** What the API server said of certificates. A cache: a process that starts begins with nothing. */
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

  /** `undefined` when the cluster asks for no TLS. @throws OperatorError Cancelled */
  async look(
    cluster: EtcdCluster,
    members: Pick<ClusterSnapshot, "peers" | "pods">,
    signal: AbortSignal,
  ): Promise<SeenCertificates | undefined> {
    const former = withFormerTls(cluster, members);
    const given: Given = { cluster, former, members };
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
    this.#keyring.alsoTrust({ namespace, name }, besidesOf(given, memory));
    return { ...seenIn(memory.known, this.#clock.monotonicMs()), ...this.#podsFor(memory, members) };
  }

  /** How often something else was read of the cluster than was known before: the same number says that all is as it was. */
  newsOf(key: Key): number {
    return this.#clusters.get(keyText(key))?.news ?? 0;
  }

  /** For how long the pods are known. */
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

  /** What was said of the cluster is out of date: all of it. */
  forget({ namespace, name }: Key): void {
    this.#clusters.delete(keyText({ namespace, name }));
    this.#keyring.forget({ namespace, name });
  }

  /** What was said of this is out of date: it has been written. */
  hasChanged(key: Key, what: What): void {
    const known = this.#clusters.get(keyText(key))?.known;
    for (const each of knownAs(what)) {
      const last = known?.get(each);
      if (last !== undefined) known?.set(each, { ...last, atMs: Number.NEGATIVE_INFINITY, refused: undefined });
    }
  }

  /**
   * This is what the API server has stored of it: what has just been written need not be read. But what the operator connects with is, since it is
   * only learnt with what members believe. What is in use is written by the same steps as what is asked for, and has another name.
   */
  hasWritten(key: Key, what: What, object: KubeObject): void {
    const memory = this.#clusters.get(keyText(key));
    if (memory === undefined || what === "operator" || isRequest(what)) return;
    const isPair = what !== "trustMap";
    const answer = present(isPair ? seenFrom(object as Secret, what) : (object as ConfigMap)) as Answer;
    for (const each of knownAs(what)) if (!isOfAnother(memory.given, each, answer)) this.#note(memory, each, answer);
  }

  /** With what the operator connects is read anew when it is to be another Secret, whether or not it has changed. */
  #handOver({ cluster }: Given, { known }: Memory): void {
    const { namespace, name } = cluster.metadata;
    const identity = this.#keyring.identityOf({ namespace, name });
    if (identity === undefined || identity.secretName === operatorSecretName(cluster)) return;
    const last = known.get("operator");
    if (last !== undefined && this.#clock.monotonicMs() - last.atMs >= ABSENT_MS)
      known.set("operator", { ...last, atMs: Number.NEGATIVE_INFINITY });
  }

  /** Nobody can be asked, perhaps for what was read of this: with the next look it is read again, once in a minute at the most. */
  doubt(key: Key, what: What): void {
    const readAtMs = this.#clusters.get(keyText(key))?.known.get(what)?.atMs;
    if (readAtMs !== undefined && this.#clock.monotonicMs() - readAtMs >= MINUTELY_MS) this.hasChanged(key, what);
  }

  #stale(given: Given, memory: Memory, wanted: readonly What[]): readonly What[] {
    const nowMs = this.#clock.monotonicMs();
    const ageOf = (what: What) => nowMs - (memory.known.get(what)?.atMs ?? Number.NEGATIVE_INFINITY);
    // What cert-manager says of its work counts while the work is not done.
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
    // By when it was asked for, not by when it was seen: what errs would have each turn.
    const askedMs = (what: What) => memory.known.get(what)?.askedMs ?? Number.NEGATIVE_INFINITY;
    const [oldest] = mayBeAsked.filter((what) => !due.includes(what)).toSorted((a, b) => askedMs(a) - askedMs(b));
    if (oldest === undefined || nowMs - askedMs(oldest) < MINUTELY_MS) return due;
    memory.restedMs = nowMs;
    return [...due, oldest];
  }

  /** Of what may not be read, the one that was asked for longest ago: whether people have granted the right it tells for all the others. */
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

  /** Whether nobody can be asked without it: members may be made before it, with what they show. */
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
      // What was refused goes on to take turns until somebody sees it: else one that errs by now would have each turn.
      const isRefused = missingRightText(answer.why) !== undefined || last?.refused !== undefined;
      const told = { refused: isRefused ? answer.why : undefined, askedMs: nowMs };
      if (last === undefined || last.answer.is === "unknown")
        memory.known.set(what, { answer, atMs: nowMs, sinceMs: nowMs, signerSinceMs: nowMs, ...told });
      // What was last seen counts until somebody sees. That nobody may look is told.
      else memory.known.set(what, { ...last, ...(isRefused ? { atMs: nowMs } : {}), ...told });
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
      return await this.#kube.find(CONFIG_MAPS, { namespace, name: trustConfigMapName(name) }, { signal });
    if (isRequest(what)) return await this.#askForRequest(cluster, purposeOf(what), signal);
    const secretName = nameOf(given, what);
    if (secretName === undefined) return { is: "absent" };
    const found = await this.#kube.find(SECRETS, { namespace, name: secretName }, { signal });
    // Where people bring certificates, applications are given none, as a rule.
    if (found.is === "absent" && what === "handout" && providerOf(cluster.spec, "client") === "Secret")
      return NOT_HANDED_OUT;
    if (found.is !== "present") return found;
    const facts = seenFrom(found.value, what);
    // Of a pair that is of no use, that members do not trust, or that is not for it, nothing is learnt: with what worked so far it may still work.
    const isShown = (what === "operator" || what === "former operator") && secretName === operatorSecretName(cluster);
    const issuer = what === "former operator" ? given.former : cluster;
    const isOwn = issuer === undefined || whyStrangers(issuer, "operator", facts) === undefined;
    if (isShown && isOwn && isBelieved(cluster, members, facts) && mayConnectWith(cluster, facts)) {
      if (this.#isKept({ cluster: issuer ?? cluster, members }, memory.learnt, facts)) return present(facts);
      this.#keyring.learn({ namespace, name }, found.value);
      memory.learnt = facts;
    }
    return present(facts);
  }

  /**
   * Whether members take what was learnt of this Secret, and not what it holds by now: that has ended, begins later, or is for something else. When they
   * take neither, as far as this clock tells, what was read last counts: the clock may be wrong.
   */
  #isKept(
    { cluster, members }: Pick<Given, "cluster" | "members">,
    learnt: SeenCertificate | undefined,
    facts: SeenCertificate,
  ): boolean {
    if (learnt?.secretName !== facts.secretName || !areClientsVerified(cluster.spec)) return false;
    const takenAtMs = this.#clock.wallMs();
    const isTaken = (each: SeenCertificate) =>
      isInTime({ takenAtMs }, each) && lackOf({ cluster }, "operator", each) === undefined;
    return isTaken(learnt) && !isTaken(facts) && isBelieved(cluster, members, learnt);
  }

  async #askForRequest(cluster: EtcdCluster, purpose: LeafPurpose, signal: AbortSignal): Promise<SeenRequest> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#served === undefined || this.#served.is.is === "unknown" || nowMs - this.#served.atMs >= SERVED_MS)
      this.#served = { is: await isServed(this.#kube, CERTIFICATES, { signal }), atMs: nowMs };
    if (this.#served.is.is === "unknown") return this.#served.is;
    if (this.#served.is.is === "absent") return { is: "notServed" };
    const { namespace } = cluster.metadata;
    return await this.#kube.find(CERTIFICATES, { namespace, name: secretNameOf(cluster, purpose) ?? "" }, { signal });
  }
}

/** One object may be known as several: as what is asked for, as what is in use, as what applications have. */
function knownAs(what: What): readonly What[] {
  return isPurpose(what) ? [what, `former ${what}`, "handout"] : [what];
}

/** What may be known of it, as of now. */
function seenFrom(secret: Secret, what: What): SeenCertificate {
  return { ...factsOf(secret, what.endsWith("CA") ? "authority" : "leaf"), knownForMs: 0, signerForMs: 0 };
}

/** Whatever was refused is asked for with the next look: a right is granted for all of a namespace, as a rule. */
function askForAll({ known }: Memory): void {
  for (const [what, last] of known)
    if (last.refused !== undefined) known.set(what, { ...last, atMs: Number.NEGATIVE_INFINITY, refused: undefined });
}

/**
 * Whom the operator believes besides those of its own Secret, in PEM: while members come to show what comes from somewhere else, the authorities of
 * both.
 */
function besidesOf({ cluster, former, members }: Given, { known }: Memory): string {
  if (former === undefined || providerOf(cluster.spec, "client") === "None") return "";
  if (secretsInUse(members, "client").size === 0) return "";
  const server = known.get("server")?.answer;
  const shown = server?.is === "present" && "fingerprint" in server.value ? server.value.trust : "";
  return united(...trustInUse(members, "client"), shown);
}

/** Whether all members believe whoever shows it, if they ask at all. */
function isBelieved(
  { spec }: EtcdCluster,
  members: Pick<ClusterSnapshot, "peers" | "pods">,
  facts: CertificateFacts,
): boolean {
  if (facts.trouble !== undefined || facts.signerId === undefined) return false;
  return !areClientsVerified(spec) || withoutBelief(members, "client", facts).length === 0;
}
