import {
  applicationCertificateName,
  CLIENT_TRUST_ANNOTATION,
  PEER_TRUST_ANNOTATION,
  REVISION_ANNOTATION,
} from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import { areClientsVerified, operatorSecretName, providerOf, type Side } from "#api/tls.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { absent, present } from "#base/observed.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { nextUser } from "#cluster/auth/users.ts";
import { after } from "#cluster/forecast/model.ts";
import { arrived } from "#cluster/forecast/model-kubernetes.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot, Purpose, SeenCertificate } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { mountedIn, secretsInUse, trustInUse } from "#cluster-tls/check/trusted.ts";
import { abandonedName, issuedTls, withPreviousTls } from "#cluster-tls/effective/previous.ts";
import { AUTHORITY_OF, purposesOf, SHOWN_ON, SIDES, secretNameOf, sideOf } from "#cluster-tls/read/purposes.ts";
import { born } from "#kit/snapshots/cluster.ts";
import { LOCKED, withAuth } from "#kit/snapshots/cluster-auth.ts";
import { bundle, made, NEXT, OWN, started, THEIRS, tlsSpec } from "#kit/snapshots/cluster-tls.ts";
import type { Certificate, ConfigMap } from "#kube/kinds.ts";
import type { Plan } from "#runtime/decide.ts";

// Changes one cluster from one origin of certificates to another, step by step, with the operator's own plan. The
// change keeps the content of each Secret, and what earlier readers of it still have. After each step it checks that
// all parties still trust each other.

/** Longer than any reader takes to reload a Secret, in milliseconds. */
const LONG_MS = 3_600_000;

/** The plan and status functions that a change uses. */
export interface Decider {
  readonly plan: (snapshot: ClusterSnapshot) => Plan<ClusterStep>;
  readonly status: typeof clusterStatus;
}

const OPERATOR: Decider = { plan: planCluster, status: clusterStatus };

export class ChangeRun {
  readonly #decider: Decider;
  snapshot: ClusterSnapshot;
  /** Facts about each Secret. */
  readonly secrets = new Map<string, SeenCertificate>();
  /** Facts about deleted Secrets that pods still have mounted. */
  readonly #left = new Map<string, SeenCertificate>();
  /** Steps taken, without repetitions. */
  readonly done: string[] = [];
  /** Number of restarts of members. */
  restarts = 0;
  /** Certificates requested from cert-manager, by name. */
  readonly requests = new Map<string, Certificate>();
  /** Roles of users in etcd, if authentication is enabled. */
  readonly users: Map<string, readonly string[]> | undefined;
  /** What applications read last, and may still use. */
  #read: { pair: SeenCertificate | undefined; trust: string };
  #trustMapForMs = LONG_MS;

  /** @param decider by default the real operator's */
  constructor(snapshot: ClusterSnapshot, users?: Readonly<Record<string, readonly string[]>>, decider = OPERATOR) {
    this.#decider = decider;
    this.snapshot = snapshot;
    this.users = users && new Map(Object.entries(users));
    for (const purpose of purposesOf(snapshot.cluster)) {
      const found = snapshot.certificates?.[purpose];
      if (found?.is === "present") this.secrets.set(found.value.secretName, found.value);
    }
    this.#look();
    this.#read = this.#told();
  }

  /** Changes `spec.tls`; Secrets that people provide exist. */
  ask(tls: object): void {
    const { cluster } = this.snapshot;
    this.snapshot = { ...this.snapshot, cluster: { ...cluster, spec: { ...cluster.spec, tls: tlsSpec(tls) } } };
    this.#look();
  }

  /** A person fills the Secrets that the spec asks for. */
  bring(purposes: readonly Purpose[], given: Parameters<typeof made>[2] = {}): void {
    for (const purpose of purposes) {
      const facts = made(this.snapshot, purpose, { isOurs: false, by: THEIRS, ...given });
      this.secrets.set(facts.secretName, facts);
    }
    this.#look();
  }

  /** Deletes a Secret; no pod uses it any more. */
  remove(name: string): void {
    this.secrets.delete(name);
    this.#look();
    this.#read = this.#told();
  }

  /** Deletes a Secret; pods that mount it continue to use it. */
  lose(name: string): void {
    const facts = this.secrets.get(name);
    if (facts !== undefined) this.#left.set(name, facts);
    this.secrets.delete(name);
    this.#look();
  }

  /** A new operator process, which has observed nothing yet. */
  restart(): void {
    for (const [name, facts] of this.secrets) this.secrets.set(name, { ...facts, knownForMs: 0, signerForMs: 0 });
    this.#trustMapForMs = 0;
    this.#look();
  }

  /**
   * Makes one step; without one, time passes.
   * @returns the step; undefined when nothing is left to do
   */
  step(): string | undefined {
    for (const isLater of [false, true]) {
      if (isLater) this.#wait();
      const plan = this.#decider.plan(this.snapshot);
      const { cluster } = this.snapshot;
      const status = { ...this.#decider.status(this.snapshot, plan) };
      this.snapshot = { ...this.snapshot, cluster: { ...cluster, status } };
      const isChanged = JSON.stringify(sourcesIn(cluster.status)) !== JSON.stringify(sourcesIn(status));
      this.#look();
      if (isChanged) return "status";
      if (plan.next !== "step") continue;
      this.#act(plan.step);
      const text = textOf(plan.step);
      if (text !== undefined && this.done.at(-1) !== text) this.done.push(text);
      return plan.step.do;
    }
    return undefined;
  }

  /**
   * Continues until nothing is left to do.
   * @param each called after each step
   * @returns the steps
   */
  run(each: (change: ChangeRun) => void = () => undefined): string[] {
    for (let steps = 0; this.step() !== undefined; steps++) {
      if (steps > 300) throw new Error(`the change does not end after 300 steps: ${this.done.join(", ")}`);
      const cut = this.cutOff();
      if (cut.length > 0) throw new Error(`${cut.join("; ")} after ${this.done.join(", ")}`);
      each(this);
    }
    return this.done;
  }

  /**
   * Sentences about parties that do not trust each other, users that etcd does not know, and certificates that must not
   * be presented.
   */
  cutOff(): readonly string[] {
    const pods = [...this.snapshot.pods];
    const shown = (side: Side, name: string) => {
      const pod = this.snapshot.pods.get(name);
      const mounted = (pod && mountedIn(pod, side)) ?? "";
      return this.secrets.get(mounted) ?? this.#left.get(mounted);
    };
    const trusted = (side: Side, name: string) =>
      this.snapshot.pods.get(name)?.metadata.annotations?.[
        side === "peer" ? PEER_TRUST_ANNOTATION : CLIENT_TRUST_ANNOTATION
      ] ?? "";
    const told: string[] = [];
    const believe = (party: string, bundle: string, other: string, facts: SeenCertificate | undefined) => {
      if (facts?.signerId === undefined || !idsIn(bundle).has(facts.signerId))
        told.push(`${party} does not believe ${other}`);
    };
    const isVerified = areClientsVerified(this.snapshot.cluster.spec);
    const operator = this.secrets.get(operatorSecretName(this.snapshot.cluster) ?? "");
    const previous = withPreviousTls(this.snapshot.cluster, this.snapshot);
    const additional = previous === undefined ? "" : trustInUse(this.snapshot, "client").join("");
    for (const [name] of pods) {
      for (const [other] of pods) believe(name, trusted("peer", name), other, shown("peer", other));
      if (isVerified) believe(name, trusted("client", name), "the operator", operator);
      believe("the operator", (operator?.trust ?? "") + additional, name, shown("client", name));
      for (const [when, { pair, trust }] of [["now", this.#told()] as const, ["before", this.#read] as const]) {
        believe(`who verifies (${when})`, trust, name, shown("client", name));
        if (pair === undefined) continue;
        if (isVerified) believe(name, trusted("client", name), `the application (${when})`, pair);
        believe(`the application (${when})`, pair.trust, name, shown("client", name));
      }
    }
    for (const [name, pod] of pods) {
      for (const side of SIDES)
        if (shown(side, name)?.mayBeShown === false && !isIssued(this.snapshot, shown(side, name)))
          told.push(`${name} shows ${mountedIn(pod, side)}, which is not for EtcdClusters`);
      const spec = this.snapshot.peers.find((peer) => peer.metadata.name === name)?.spec;
      const { clientCertificates, plaintext } = spec?.tls?.client ?? {};
      const isItsOwn = spec !== undefined && pod.metadata.annotations?.[REVISION_ANNOTATION] === revisionOf(spec);
      if (this.users !== undefined && isItsOwn && (clientCertificates !== "Required" || plaintext === true))
        told.push(`${name} asks clients for no certificate, so that etcd knows nobody`);
    }
    if (this.users !== undefined && this.users.get(operator?.commonName ?? "")?.includes("root") !== true)
      told.push("etcd does not know the operator for an administrator");
    return told;
  }

  /** Secrets with the certificates that members present, and the number of CAs that they trust. */
  get shown(): object {
    const of = (side: Side) => [...secretsInUse(this.snapshot, side)].join(" ");
    const many = (side: Side) => trustInUse(this.snapshot, side).length;
    const operator = operatorSecretName(this.snapshot.cluster);
    return { peer: of("peer"), client: of("client"), operator, trusted: [many("peer"), many("client")] };
  }

  #told() {
    const { trustMap } = this.snapshot.certificates ?? {};
    const trust = trustMap?.is === "present" ? (trustMap.value.data?.["ca.crt"] ?? "") : "";
    return { pair: this.secrets.get(applicationCertificateName(this.snapshot.cluster.metadata.name)), trust };
  }

  #wait(): void {
    for (const [name, facts] of this.secrets)
      this.secrets.set(name, { ...facts, knownForMs: LONG_MS, signerForMs: LONG_MS });
    this.#trustMapForMs = LONG_MS;
    this.#look();
    this.#read = this.#told();
  }

  /** Updates the snapshot with the observations of these Secrets. */
  #look(): void {
    const { cluster, certificates } = this.snapshot;
    const previous = withPreviousTls(cluster, this.snapshot);
    const seenOf = (of: typeof cluster) =>
      purposesOf(of).map((purpose) => {
        const facts = this.secrets.get(secretNameOf(of, purpose) ?? "");
        return [purpose, facts === undefined ? absent : present(facts)] as const;
      });
    const abandoned = SIDES.flatMap((side) => {
      const name = abandonedName(cluster, this.snapshot, side);
      const facts = this.secrets.get(name ?? "");
      return name === undefined ? [] : [[SHOWN_ON[side], facts === undefined ? absent : present(facts)] as const];
    });
    const given = this.secrets.get(applicationCertificateName(cluster.metadata.name));
    const isHanded = ["CertManager", "Secret"].includes(providerOf(cluster.spec, "client"));
    const purposes = purposesOf(cluster).filter((each) => providerOf(cluster.spec, sideOf(each)) === "CertManager");
    const requests = purposes.map((each) => {
      const found = this.requests.get(secretNameOf(cluster, each) ?? "");
      return [each, found === undefined ? absent : present(found)] as const;
    });
    this.snapshot = {
      ...this.snapshot,
      certificates: {
        ...Object.fromEntries(seenOf(cluster)),
        trustMap: certificates?.trustMap ?? absent,
        trustMapForMs: this.#trustMapForMs,
        ...(isHanded ? { clientSecret: given === undefined ? absent : present(given) } : {}),
        ...(previous === undefined ? {} : { previous: Object.fromEntries(seenOf(previous)) }),
        abandoned: Object.fromEntries(abandoned),
        requests: Object.fromEntries(requests),
      },
    };
    if (this.users !== undefined) this.snapshot = withAuth(this.snapshot, this.#auth(this.users));
  }

  /** The state of etcd's authentication for the operator. */
  #auth(users: ReadonlyMap<string, readonly string[]>): Parameters<typeof withAuth>[1] {
    const user = this.secrets.get(operatorSecretName(this.snapshot.cluster) ?? "")?.commonName;
    const next = nextUser(this.snapshot);
    const state = { ...LOCKED, operator: users.get(user ?? ""), next: users.get(next ?? "") };
    const operators = this.snapshot.cluster.status?.auth?.operators;
    return { user, state, recorded: true, ...(next !== undefined && { next }), ...(operators && { operators }) };
  }

  #act(step: ClusterStep): void {
    const { snapshot } = this;
    if (step.do === "restartPod") this.restarts += 1;
    if (step.do === "addUser" || step.do === "grantRole") {
      this.users?.set(step.user, step.do === "addUser" ? [] : ["root"]);
      this.#look();
      return;
    }
    const facts = this.#written(step);
    if (facts !== undefined) this.#put(facts);
    else if (step.do === "createTrustMap" || step.do === "replaceTrustMap") {
      this.#trustMapForMs = 0;
      this.#withSeen({ trustMap: present(born<ConfigMap>(step.map)) });
    } else {
      const next = after(snapshot, step);
      if (typeof next === "string") throw new Error(`${step.do}: ${next}`);
      const come = arrived(next);
      const begun = [...come.pods.keys()].filter((name) => !snapshot.pods.has(name));
      const all = step.do === "restartPod" ? [step.name] : begun;
      this.snapshot = all.length > 0 ? started(come, all) : come;
      this.#look();
    }
  }

  /** Facts about the Secret that the step writes, or that cert-manager fills for it. */
  #written(step: ClusterStep): SeenCertificate | undefined {
    const { snapshot } = this;
    switch (step.do) {
      case "issueAuthority":
        return made(issuedTls(snapshot, step.side), AUTHORITY_OF[step.side], { trust: bundle(OWN) + step.trust });
      case "issueLeaf":
        return made(issuedTls(snapshot, sideOf(step.purpose)), step.purpose, { trust: step.authority.trust });
      case "spreadTrust":
        return { ...step.facts, trust: step.authority.trust, trustIds: step.authority.trustIds };
      case "publishClientSecret": {
        const { name: cluster, uid: ownerUid } = snapshot.cluster.metadata;
        const secretName = applicationCertificateName(cluster);
        const trustIds = parsedIn(step.trust).map(idOf);
        return { ...step.source, secretName, ownerUid, trust: step.trust, trustIds, certificateName: undefined };
      }
      case "createRequest": {
        this.requests.set(step.request.metadata.name, born<Certificate>(step.request));
        const [by] = step.request.spec?.issuerRef?.name === "other" ? [THEIRS] : [NEXT];
        return made(snapshot, step.purpose, { by, isOurs: false });
      }
      default:
        return undefined;
    }
  }

  #withSeen(seen: ClusterSnapshot["certificates"]): void {
    this.snapshot = { ...this.snapshot, certificates: { ...this.snapshot.certificates, ...seen } };
    this.#look();
  }

  #put(facts: SeenCertificate): void {
    const before = this.secrets.get(facts.secretName);
    const signerForMs = before !== undefined && before.signerId === facts.signerId ? before.signerForMs : 0;
    this.secrets.set(facts.secretName, { ...facts, knownForMs: 0, signerForMs });
    this.#look();
  }
}

/** The recorded sources of certificates, by side. */
function sourcesIn(status: EtcdClusterStatus | undefined) {
  return SIDES.map((side) => status?.tls?.[side]?.issuedBy);
}

/** Whether the operator or cert-manager fills it; then it needs no permission label. */
function isIssued({ cluster }: ClusterSnapshot, facts: SeenCertificate | undefined): boolean {
  return facts?.ownerUid === cluster.metadata.uid || facts?.certificateName !== undefined;
}

const known = new Map<string, ReadonlySet<string>>();

/** Cached, because parsing is slow. */
function idsIn(pem: string): ReadonlySet<string> {
  const ids = known.get(pem) ?? new Set(parsedIn(pem).map(idOf));
  known.set(pem, ids);
  return ids;
}

/** The step for the list; undefined for steps that belong to every restart. */
function textOf(step: ClusterStep): string | undefined {
  if (step.do === "replaceBudget" || step.do === "moveLeader") return undefined;
  if (step.do === "replacePeer" || step.do === "restartPod") return "roll";
  const of = "purpose" in step ? ` ${step.purpose}` : "side" in step ? ` ${step.side}` : "";
  return `${step.do}${of}`;
}
