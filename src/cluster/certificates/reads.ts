import { applicationCertificateName, TRUST_FILE, trustConfigMapName } from "#api/names.ts";
import { areClientsVerified, operatorSecretName, providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { isSameData } from "#base/hash.ts";
import { type Observed, present } from "#base/observed.ts";
import { mayConnectWith } from "#certificates/consent.ts";
import { type CertificateFacts, factsOf } from "#certificates/facts.ts";
import type { Keyring } from "#certificates/keyring.ts";
import { isOverdue as isRenewalOverdue } from "#certificates/request.ts";
import { betweenName, withFormerTls } from "#cluster/certificates/former.ts";
import { leavesOf, purposesOf, SHOWN_ON, SIDES, secretNameOf, sideOf } from "#cluster/certificates/purposes.ts";
import { REACHED_MS } from "#cluster/certificates/rotation.ts";
import { secretsInUse, trustInUse, united, withoutBelief } from "#cluster/certificates/trusted.ts";
import { whyStrangers } from "#cluster/certificates/usable.ts";
import { MINUTELY_MS } from "#cluster/rest.ts";
import type {
  ClusterSnapshot,
  LeafPurpose,
  Purpose,
  SeenCertificate,
  SeenCertificates,
  SeenRequest,
} from "#cluster/snapshot.ts";
import type { KubeClient } from "#kube/client.ts";
import { CERTIFICATES, CONFIG_MAPS, type ConfigMap, SECRETS } from "#kube/kinds.ts";
import { isServed } from "#kube/served.ts";
import { type Key, keyText } from "#runtime/controller.ts";

// Why are Secrets read by their names, and not watched as everything else?
//   Who may watch them sees all of a namespace. By name the operator sees those of its clusters, and nobody else's.
// How often? One object of a cluster in a minute, the one that was read longest ago; besides, what is about to end, or is not as it should
//   be, and what cert-manager does not renew, once in a minute each; what is not there, with almost each look; what is in the way of the operator's own, six times in a minute. What we have written ourselves, at once.

/** So old an answer may be that something is not there, in milliseconds. */
const ABSENT_MS = 2_000;
/** The same of what has the name of the operator's own, and belongs to somebody else, such as a cluster of the name before that is gone. */
const IN_THE_WAY_MS = 10_000;
/** What ends within this is read more often, in milliseconds: somebody is to renew it. */
const SOON_MS = 60 * 60_000;
/** How long it counts whether cert-manager's kind is served, in milliseconds. */
const SERVED_MS = 5 * 60_000;

/** former: of what is in use, where the spec asks for something else by now. between: of what some show that was asked for in between. */
type What = Purpose | `former ${Purpose}` | `between ${Shown}` | "handout" | "trustMap" | `request ${LeafPurpose}`;
type Shown = (typeof SHOWN_ON)[Side];
type Answer = Observed<SeenCertificate> | Observed<ConfigMap> | SeenRequest;

interface Known {
  readonly answer: Answer;
  readonly atMs: number;
  /** Since when it says the same. */
  readonly sinceMs: number;
  /** Since when it is signed by whom it is. */
  readonly signerSinceMs: number;
}

interface Memory {
  readonly known: Map<What, Known>;
  /** When something was read at rest. */
  restedMs: number;
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
    const memory = this.#clusters.get(text) ?? { known: new Map(), restedMs: Number.NEGATIVE_INFINITY };
    this.#clusters.set(text, memory);
    for (const [what, { answer }] of [...memory.known])
      if (!wanted.includes(what) || isOfAnother(given, what, answer)) memory.known.delete(what);
    if (deletionTimestamp === undefined) {
      this.#handOver(given, memory);
      await Promise.all(this.#stale(given, memory, wanted).map((what) => this.#read(given, memory, what, signal)));
    }
    this.#keyring.alsoTrust({ namespace, name }, besidesOf(given, memory));
    return this.#seen(memory);
  }

  /** What was said of the cluster is out of date: all of it. */
  forget({ namespace, name }: Key): void {
    this.#clusters.delete(keyText({ namespace, name }));
    this.#keyring.forget({ namespace, name });
  }

  /** What was said of this is out of date: it has been written. */
  hasChanged(key: Key, what: What): void {
    const known = this.#clusters.get(keyText(key))?.known;
    // One object may be known as several: as what is asked for, as what is in use, as what applications have.
    const all: readonly What[] = [what, ...(isPurpose(what) ? ([`former ${what}`, "handout"] as const) : [])];
    for (const each of all) {
      const last = known?.get(each);
      if (last !== undefined) known?.set(each, { ...last, atMs: Number.NEGATIVE_INFINITY });
    }
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
    const lastsMs = (what: What) =>
      isRequest(what) && memory.known.get(purposeOf(what))?.answer.is === "absent"
        ? ABSENT_MS
        : isInTheWay(given, what, memory.known.get(what)?.answer)
          ? IN_THE_WAY_MS
          : this.#lastsMs(memory.known.get(what)?.answer, isAwaited(given, what) || this.#isLockedOut(given, what));
    const due = wanted.filter((what) => ageOf(what) >= lastsMs(what));
    if (nowMs - memory.restedMs < MINUTELY_MS) return due;
    const [oldest] = wanted.filter((what) => !due.includes(what)).toSorted((a, b) => ageOf(b) - ageOf(a));
    if (oldest === undefined || ageOf(oldest) < MINUTELY_MS) return due;
    memory.restedMs = nowMs;
    return [...due, oldest];
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

  /** How old the answer may be, in milliseconds; infinite when it is only read again in its turn. */
  #lastsMs(answer: Answer | undefined, isAwaited: boolean): number {
    if (answer === undefined || answer.is === "unknown") return 0;
    if (answer === NOT_HANDED_OUT) return Number.POSITIVE_INFINITY;
    if (answer.is === "absent" || answer.is === "notServed") return ABSENT_MS;
    if (!("fingerprint" in answer.value)) {
      const isOverdue = "spec" in answer.value && isRenewalOverdue(answer.value, this.#clock.wallMs());
      return isOverdue ? MINUTELY_MS : Number.POSITIVE_INFINITY;
    }
    const { trouble, notAfterMs, mayBeShown } = answer.value;
    if (isAwaited && !mayBeShown) return ABSENT_MS;
    const isCalm = trouble === undefined && notAfterMs - this.#clock.wallMs() > SOON_MS;
    return isCalm ? Number.POSITIVE_INFINITY : MINUTELY_MS;
  }

  async #read(given: Given, memory: Memory, what: What, signal: AbortSignal): Promise<void> {
    const answer = await this.#ask(given, what, signal);
    const nowMs = this.#clock.monotonicMs();
    const last = memory.known.get(what);
    if (last !== undefined && answer.is === "unknown" && last.answer.is !== "unknown") return; // what was last seen counts until somebody sees
    const isSame = last !== undefined && saysSame(last.answer, answer, this.#clock.wallMs());
    const isSignedAlike = last !== undefined && signerIn(last.answer) === signerIn(answer);
    memory.known.set(what, {
      answer,
      atMs: nowMs,
      sinceMs: isSame ? last.sinceMs : nowMs,
      signerSinceMs: isSignedAlike ? last.signerSinceMs : nowMs,
    });
  }

  async #ask(given: Given, what: What, signal: AbortSignal): Promise<Answer> {
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
    const facts = factsOf(found.value, what.endsWith("CA") ? "authority" : "leaf");
    // Of a pair that is of no use, that members do not trust, or that is not for it, nothing is learnt: with what worked so far it may still work.
    const isShown = (what === "operator" || what === "former operator") && secretName === operatorSecretName(cluster);
    const issuer = what === "former operator" ? given.former : cluster;
    const isOwn = issuer === undefined || whyStrangers(issuer, "operator", facts) === undefined;
    if (isShown && isOwn && isBelieved(cluster, members, facts) && mayConnectWith(cluster, facts))
      this.#keyring.learn({ namespace, name }, found.value);
    return present({ ...facts, knownForMs: 0, signerForMs: 0 });
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

  #seen({ known }: Memory): SeenCertificates {
    const nowMs = this.#clock.monotonicMs();
    const seen: Record<string, unknown> = {};
    const requests: Record<string, unknown> = {};
    const [former, between]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
    for (const [what, { answer, sinceMs, signerSinceMs }] of known) {
      const isCertificate = answer.is === "present" && "fingerprint" in answer.value;
      const times = { knownForMs: nowMs - sinceMs, signerForMs: nowMs - signerSinceMs };
      const told = isCertificate ? present({ ...answer.value, ...times }) : answer;
      if (isRequest(what)) requests[purposeOf(what)] = told;
      else if (isFormer(what)) former[formerPurpose(what)] = told;
      else if (isBetween(what)) between[betweenPurpose(what)] = told;
      else seen[what] = told;
      if (what === "trustMap" && answer.is === "present") seen.trustMapForMs = nowMs - sinceMs;
    }
    const some = Object.entries({ former, between }).filter(([, each]) => Object.keys(each).length > 0);
    const besides = Object.fromEntries(some);
    return { ...seen, ...besides, requests } as SeenCertificates;
  }
}

/** What is not there, and need not be. */
const NOT_HANDED_OUT: Answer = { is: "absent" };

interface Given {
  readonly cluster: EtcdCluster;
  /** As it asked for what is in use, where it asks for something else by now. */
  readonly former: EtcdCluster | undefined;
  readonly members: Pick<ClusterSnapshot, "peers" | "pods">;
}

/** All objects that the cluster's certificates are made of. */
function wantedOf({ cluster, former, members }: Given): readonly What[] {
  const { spec } = cluster;
  const requested = SIDES.filter((side) => providerOf(spec, side) === "CertManager");
  const requests = requested.flatMap((side) => leavesOf(cluster, side)).map((purpose) => `request ${purpose}` as const);
  const provider = providerOf(spec, "client");
  const clients: readonly What[] =
    provider === "None" ? [] : provider === "Operator" ? ["trustMap"] : ["trustMap", "handout"];
  const left = former === undefined ? [] : purposesOf(former).map((purpose) => `former ${purpose}` as const);
  const sides = SIDES.filter((side) => betweenName(cluster, members, side) !== undefined);
  const between = sides.map((side) => `between ${SHOWN_ON[side]}` as const);
  return [...purposesOf(cluster), ...clients, ...requests, ...left, ...between];
}

/** The Secret that is read. */
function nameOf({ cluster, former, members }: Given, what: Exclude<What, "trustMap" | `request ${LeafPurpose}`>) {
  if (isBetween(what)) return betweenName(cluster, members, sideOf(betweenPurpose(what)));
  if (what === "handout") return applicationCertificateName(cluster.metadata.name);
  if (!isFormer(what)) return secretNameOf(cluster, what);
  return former && secretNameOf(former, formerPurpose(what));
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

/** Whether it is to be the operator's own, and belongs to somebody else: the garbage collector may be about to take it. */
function isInTheWay({ cluster: { metadata, spec } }: Given, what: What, answer: Answer | undefined): boolean {
  if (answer?.is !== "present" || !("fingerprint" in answer.value) || !isPurpose(what)) return false;
  const { ownerUid } = answer.value;
  return ownerUid !== undefined && ownerUid !== metadata.uid && providerOf(spec, sideOf(what)) === "Operator";
}

/** Whether no member is made yet, or all show another one, and somebody else's Secret is waited for: a person may be about to label it. */
function isAwaited({ cluster: { spec }, former, members }: Given, what: What): boolean {
  if (!isPurpose(what) || (former === undefined && members.peers.length > 0)) return false;
  return providerOf(spec, sideOf(what)) === "Secret";
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

/** Whether it was said of another Secret than the one that is asked for by now. */
function isOfAnother(given: Given, what: What, answer: Answer): boolean {
  if (what === "trustMap" || isRequest(what) || answer.is !== "present" || !("fingerprint" in answer.value))
    return false;
  return answer.value.secretName !== nameOf(given, what);
}

function isRequest(what: What): what is `request ${LeafPurpose}` {
  return what.startsWith("request ");
}

function purposeOf(what: `request ${LeafPurpose}`): LeafPurpose {
  return what.slice("request ".length) as LeafPurpose;
}

function isFormer(what: What): what is `former ${Purpose}` {
  return what.startsWith("former ");
}

function formerPurpose(what: `former ${Purpose}`): Purpose {
  return what.slice("former ".length) as Purpose;
}

function isBetween(what: What): what is `between ${Shown}` {
  return what.startsWith("between ");
}

function betweenPurpose(what: `between ${Shown}`): Shown {
  return what.slice("between ".length) as Shown;
}

function isPurpose(what: What): what is Purpose {
  return what !== "trustMap" && what !== "handout" && !isRequest(what) && !isFormer(what) && !isBetween(what);
}

function signerIn(answer: Answer): string | undefined {
  return answer.is === "present" && "fingerprint" in answer.value ? answer.value.signerId : undefined;
}

/** Whether both show the same certificate, or one that was renewed in time, and trust the same authorities. */
function saysSame(a: Answer, b: Answer, nowMs: number): boolean {
  if (a.is !== "present" || b.is !== "present") return false;
  if ("data" in a.value && "data" in b.value) return a.value.data?.[TRUST_FILE] === b.value.data?.[TRUST_FILE];
  if (!("fingerprint" in a.value) || !("fingerprint" in b.value)) return false;
  if (a.value.trust !== b.value.trust) return false;
  return a.value.fingerprint === b.value.fingerprint || isRenewal(a.value, b.value, nowMs);
}

/** Whoever has yet to hear of it is believed with the one before, by the same people, until it has heard: else a short life would never be known for long. */
function isRenewal(before: CertificateFacts, now: CertificateFacts, nowMs: number): boolean {
  const whatFor = ({ signerId, names, usages, trouble }: CertificateFacts) => ({ signerId, names, usages, trouble });
  const isGood = now.signerId !== undefined && now.trouble === undefined && isSameData(whatFor(before), whatFor(now));
  return isGood && before.notAfterMs - nowMs >= REACHED_MS;
}
