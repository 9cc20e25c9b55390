import { operatorSecretName, providerOf } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { isSameData } from "#base/hash.ts";
import { present } from "#base/observed.ts";
import type { Keyring } from "#certificates/keyring.ts";
import { missingRightText } from "#certificates/missing-right.ts";
import { MINUTELY_MS } from "#cluster/observe/rest.ts";
import type { ClusterSnapshot, SeenCertificates } from "#cluster/snapshot.ts";
import { mergeBundles, secretsInUse, trustInUse } from "#cluster-tls/check/trusted.ts";
import { withPreviousTls } from "#cluster-tls/effective/previous.ts";
import type { KubeClient } from "#kube/client.ts";
import type { ConfigMap, KubeObject, Secret } from "#kube/kinds.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import {
  ABSENT_MS,
  type Answer,
  isMissedByAnotherName,
  isOfAnother,
  type Known,
  saysSame,
  seenIn,
  signerIn,
} from "./answers.ts";
import { dueReads, nextInTurn } from "./due-reads.ts";
import { type Given, isPurpose, isRequest, type What, wantedOf } from "./objects.ts";
import { CertificateSource, seenFrom } from "./source.ts";

// Why are Secrets read by name, and not watched like everything else?
//   The right to watch covers all Secrets of a namespace. By name the operator reads only those of its clusters.
// How often are they read?
// - One object of a cluster a minute, the one that was read longest ago.
// - An object that is about to expire, is not suitable, or that cert-manager does not renew: once a minute.
// - A missing object that others have to create, or its source: at almost every reconcile.
// - The operator's own object that is missing or in the way: every 10 s.
// - One of all objects that it may not read: every 10 s.
// - An object that the operator has written itself is not read: the API server's response contains it.

interface Memory {
  /** The input of the last observation. */
  given: Given;
  readonly known: Map<What, Known>;
  /** When each pod was first seen, by its uid. */
  readonly pods: Map<string, number>;
  /** When an object was last read only because its turn had come. */
  restedMs: number;
  /** How often a read had a new result or an error. */
  news: number;
}

/** A cache of the certificates as the API server returned them. It is empty after a restart. */
export class CertificateReads {
  readonly #source: CertificateSource;
  readonly #clock: Clock;
  readonly #keyring: Keyring;
  readonly #clusters = new Map<string, Memory>();

  constructor(kube: Pick<KubeClient, "find" | "raw">, clock: Clock, keyring: Keyring) {
    this.#source = new CertificateSource(kube, clock, keyring);
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
      const read = async (what: What) => this.#note(memory, what, await this.#source.ask(given, what, signal));
      await Promise.all(this.#due(given, memory, wanted).map(read));
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
    this.#source.forget({ namespace, name });
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

  /** Objects to read now. At most once a minute they include one that has a valid answer. */
  #due(given: Given, memory: Memory, wanted: readonly What[]): readonly What[] {
    const { namespace, name } = given.cluster.metadata;
    const monotonicMs = this.#clock.monotonicMs();
    const mayConnect = this.#keyring.identityOf({ namespace, name }) !== undefined;
    const now = { monotonicMs, wallMs: this.#clock.wallMs(), mayConnect };
    const due = dueReads(given, memory.known, wanted, now);
    if (monotonicMs - memory.restedMs < MINUTELY_MS) return due;
    const next = nextInTurn(memory.known, wanted, due, monotonicMs);
    if (next === undefined) return due;
    memory.restedMs = monotonicMs;
    return [...due, next];
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
}

/** The roles under which an object may be known: requested, in use, or published to applications. */
function knownAs(what: What): readonly What[] {
  return isPurpose(what) ? [what, `previous ${what}`, "clientSecret"] : [what];
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

/** All forbidden objects are tried at the next observation: a right is usually granted for a whole namespace. */
function askForAll({ known }: Memory): void {
  for (const [what, last] of known)
    if (last.refused !== undefined) known.set(what, { ...last, atMs: Number.NEGATIVE_INFINITY, refused: undefined });
}
