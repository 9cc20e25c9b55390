import { trustConfigMapName } from "#api/names.ts";
import { areClientsVerified, providerOf } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { type Observed, present } from "#base/observed.ts";
import { type CertificateFacts, factsOf } from "#certificates/facts.ts";
import type { Keyring } from "#certificates/keyring.ts";
import { isAuthority, leavesOf, purposesOf, SIDES, secretNameOf } from "#cluster/certificates/purposes.ts";
import { withoutBelief } from "#cluster/certificates/trusted.ts";
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
//   be, once in a minute each; what is not there, with almost each look. What we have written ourselves, at once.

const REST_MS = 60_000;
/** So old an answer may be that something is not there, in milliseconds. */
const ABSENT_MS = 2_000;
/** What ends within this is read more often, in milliseconds: somebody is to renew it. */
const SOON_MS = 60 * 60_000;
/** How long it counts whether cert-manager's kind is served, in milliseconds. */
const SERVED_MS = 5 * 60_000;

type What = Purpose | "trustMap" | `request ${LeafPurpose}`;
type Answer = Observed<SeenCertificate> | Observed<ConfigMap> | SeenRequest;

interface Known {
  readonly answer: Answer;
  readonly atMs: number;
  /** Since when it says the same. */
  readonly sinceMs: number;
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
    const wanted = wantedOf(cluster);
    const { namespace, name, deletionTimestamp } = cluster.metadata;
    const text = keyText({ namespace, name });
    if (wanted.length === 0) {
      this.forget({ namespace, name });
      return undefined;
    }
    const memory = this.#clusters.get(text) ?? { known: new Map(), restedMs: Number.NEGATIVE_INFINITY };
    this.#clusters.set(text, memory);
    for (const [what, { answer }] of [...memory.known])
      if (!wanted.includes(what) || isOfAnother(cluster, what, answer)) memory.known.delete(what);
    if (deletionTimestamp === undefined)
      await Promise.all(this.#stale(memory, wanted).map((what) => this.#read(cluster, members, memory, what, signal)));
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
    const last = known?.get(what);
    if (last !== undefined) known?.set(what, { ...last, atMs: Number.NEGATIVE_INFINITY });
  }

  /** Nobody can be asked, perhaps for what was read of this: with the next look it is read again, once in a minute at the most. */
  doubt(key: Key, what: What): void {
    const readAtMs = this.#clusters.get(keyText(key))?.known.get(what)?.atMs;
    if (readAtMs !== undefined && this.#clock.monotonicMs() - readAtMs >= REST_MS) this.hasChanged(key, what);
  }

  #stale(memory: Memory, wanted: readonly What[]): readonly What[] {
    const nowMs = this.#clock.monotonicMs();
    const ageOf = (what: What) => nowMs - (memory.known.get(what)?.atMs ?? Number.NEGATIVE_INFINITY);
    // What cert-manager says of its work counts while the work is not done.
    const lastsMs = (what: What) =>
      isRequest(what) && memory.known.get(purposeOf(what))?.answer.is === "absent"
        ? ABSENT_MS
        : this.#lastsMs(memory.known.get(what)?.answer);
    const due = wanted.filter((what) => ageOf(what) >= lastsMs(what));
    if (nowMs - memory.restedMs < REST_MS) return due;
    const [oldest] = wanted.filter((what) => !due.includes(what)).toSorted((a, b) => ageOf(b) - ageOf(a));
    if (oldest === undefined || ageOf(oldest) < REST_MS) return due;
    memory.restedMs = nowMs;
    return [...due, oldest];
  }

  /** How old the answer may be, in milliseconds; infinite when it is only read again in its turn. */
  #lastsMs(answer: Answer | undefined): number {
    if (answer === undefined || answer.is === "unknown") return 0;
    if (answer.is === "absent" || answer.is === "notServed") return ABSENT_MS;
    if (!("fingerprint" in answer.value)) return Number.POSITIVE_INFINITY;
    const { trouble, notAfterMs } = answer.value;
    const isCalm = trouble === undefined && notAfterMs - this.#clock.wallMs() > SOON_MS;
    return isCalm ? Number.POSITIVE_INFINITY : REST_MS;
  }

  async #read(
    cluster: EtcdCluster,
    members: Pick<ClusterSnapshot, "peers" | "pods">,
    memory: Memory,
    what: What,
    signal: AbortSignal,
  ): Promise<void> {
    const answer = await this.#ask(cluster, members, what, signal);
    const nowMs = this.#clock.monotonicMs();
    const last = memory.known.get(what);
    if (last !== undefined && answer.is === "unknown" && last.answer.is !== "unknown") return; // what was last seen counts until somebody sees
    const isSame = last !== undefined && saysSame(last.answer, answer);
    memory.known.set(what, { answer, atMs: nowMs, sinceMs: isSame ? last.sinceMs : nowMs });
  }

  async #ask(
    cluster: EtcdCluster,
    members: Pick<ClusterSnapshot, "peers" | "pods">,
    what: What,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { namespace, name } = cluster.metadata;
    if (what === "trustMap")
      return await this.#kube.find(CONFIG_MAPS, { namespace, name: trustConfigMapName(name) }, { signal });
    if (isRequest(what)) return await this.#askForRequest(cluster, purposeOf(what), signal);
    const secretName = secretNameOf(cluster, what);
    if (secretName === undefined) return { is: "absent" };
    const found = await this.#kube.find(SECRETS, { namespace, name: secretName }, { signal });
    if (found.is !== "present") return found;
    const facts = factsOf(found.value, isAuthority(what) ? "authority" : "leaf");
    // Of a pair that is of no use, or that members do not trust, nothing is learnt: with what worked so far it may still work.
    if (what === "operator" && isBelieved(cluster, members, facts))
      this.#keyring.learn({ namespace, name }, found.value);
    return present({ ...facts, knownForMs: 0 });
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
    for (const [what, { answer, sinceMs }] of known) {
      if (isRequest(what)) requests[purposeOf(what)] = answer;
      else if (answer.is === "present" && "fingerprint" in answer.value)
        seen[what] = present({ ...answer.value, knownForMs: nowMs - sinceMs });
      else seen[what] = answer;
    }
    return { ...seen, requests } as SeenCertificates;
  }
}

/** All objects that the cluster's certificates are made of. */
function wantedOf(cluster: EtcdCluster): readonly What[] {
  const { spec } = cluster;
  const requested = SIDES.filter((side) => providerOf(spec, side) === "CertManager");
  const requests = requested.flatMap((side) => leavesOf(cluster, side)).map((purpose) => `request ${purpose}` as const);
  const hasMap = providerOf(spec, "client") !== "None";
  return [...purposesOf(cluster), ...(hasMap ? (["trustMap"] as const) : []), ...requests];
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
function isOfAnother(cluster: EtcdCluster, what: What, answer: Answer): boolean {
  if (what === "trustMap" || isRequest(what) || answer.is !== "present" || !("fingerprint" in answer.value))
    return false;
  return answer.value.secretName !== secretNameOf(cluster, what);
}

function isRequest(what: What): what is `request ${LeafPurpose}` {
  return what.startsWith("request ");
}

function purposeOf(what: `request ${LeafPurpose}`): LeafPurpose {
  return what.slice("request ".length) as LeafPurpose;
}

/** Whether both show the same certificate, and trust the same authorities. */
function saysSame(a: Answer, b: Answer): boolean {
  if (a.is !== "present" || b.is !== "present") return false;
  if (!("fingerprint" in a.value) || !("fingerprint" in b.value)) return false;
  return a.value.fingerprint === b.value.fingerprint && a.value.trust === b.value.trust;
}
