import { trustConfigMapName } from "#api/names.ts";
import { areClientsVerified, operatorSecretName, providerOf } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { type Observed, present } from "#base/observed.ts";
import { mayConnectWith } from "#certificates/consent.ts";
import { type CertificateFacts, factsOf } from "#certificates/facts.ts";
import type { Keyring } from "#certificates/keyring.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate, SeenRequest } from "#cluster/snapshot.ts";
import { membersRejecting } from "#cluster-tls/check/trusted.ts";
import type { KubeClient } from "#kube/client.ts";
import { CERTIFICATES, CONFIG_MAPS, SECRETS, type Secret } from "#kube/kinds.ts";
import { ofUsualSize } from "#kube/object-size.ts";
import { isServed } from "#kube/served.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import { type Answer, NO_CLIENT_SECRET } from "./answers.ts";
import { type Given, isRequest, nameOf, purposeOf, type What } from "./objects.ts";
import { secretNameOf } from "./purposes.ts";
import { contentProblem, isInTime, whyWrongName } from "./usable.ts";

/** How long the answer is valid whether cert-manager's API is installed, in milliseconds. */
const SERVED_MS = 5 * 60_000;

/** Reads objects of certificates from the API server. It teaches the keyring the operator's own certificate. */
export class CertificateSource {
  readonly #kube: Pick<KubeClient, "find" | "raw">;
  readonly #clock: Clock;
  readonly #keyring: Keyring;
  /** The operator's client certificate of each cluster, as it was when the keyring learnt it. */
  readonly #learnt = new Map<string, SeenCertificate>();
  #served: { readonly is: Observed<true>; readonly atMs: number } | undefined;

  constructor(kube: Pick<KubeClient, "find" | "raw">, clock: Clock, keyring: Keyring) {
    this.#kube = kube;
    this.#clock = clock;
    this.#keyring = keyring;
  }

  /** Drops the certificate of a cluster. */
  forget(key: Key): void {
    this.#learnt.delete(keyText(key));
    this.#keyring.forget(key);
  }

  /** Reads the object, and gives the operator's certificate to the keyring when members accept it. */
  async ask(given: Given, what: What, signal: AbortSignal): Promise<Answer> {
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
      const key = keyText({ namespace, name });
      if (this.#isKept({ cluster: issuer ?? cluster, members }, this.#learnt.get(key), facts)) return present(facts);
      this.#keyring.learn({ namespace, name }, found.value);
      this.#learnt.set(key, facts);
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

/** The observation of a Secret, dated now. */
export function seenFrom(secret: Secret, what: What): SeenCertificate {
  return { ...factsOf(secret, what.endsWith("CA") ? "authority" : "leaf"), knownForMs: 0, signerForMs: 0 };
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
