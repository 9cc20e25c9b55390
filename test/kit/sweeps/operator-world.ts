import {
  APPLIED_HASH_ANNOTATION,
  applicationCertificateName,
  CERTIFICATE_FILE,
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  clusterToken,
  GROUP,
  isAuthorityName,
  KEY_FILE,
  peerHost,
  peerUrl,
  QUARANTINE_TIME_ANNOTATION,
  TRUST_FILE,
} from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { systemClock } from "#base/clock.ts";
import { endpointOf, type Identity } from "#certificates/dial.ts";
import { certificatesIn, idOf, parsedIn } from "#certificates/pem.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { identityFor } from "#etcd/identity.ts";
import { TransportPool } from "#etcd/transport.ts";
import { hexOf, type MemberList } from "#etcd/types.ts";
import { eventually, instance, UserCluster } from "#kit/e2e/e2e.ts";
import { KubeClient } from "#kube/client.ts";
import { kubeconfigFile } from "#kube/config.ts";
import {
  type AnyResource,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  REPLICA_SETS,
  SECRETS,
  SERVICES,
  type Secret,
} from "#kube/kinds.ts";
import { isReady } from "#kube/pod.ts";

// kubectl costs a process for each check; a sweep makes thousands of checks.
const OPTIONS = { signal: new AbortController().signal, deadlineMs: 30_000 };
const kube = new KubeClient({
  config: await kubeconfigFile(instance.kubeconfig),
  userAgent: "crash-sweep",
  limits: { qps: 1_000, burst: 1_000 },
});
const pool = new TransportPool(systemClock);
const etcd = new GrpcClient({ pool, clock: systemClock });

/** Every kind that the operator creates, or that exists because of it. */
export const KINDS: readonly AnyResource[] = [
  ETCD_CLUSTERS,
  ETCD_PEERS,
  SERVICES,
  POD_DISRUPTION_BUDGETS,
  PERSISTENT_VOLUME_CLAIMS,
  REPLICA_SETS,
  PODS,
  SECRETS,
];

/** All objects that are not being deleted: uid by kind and name. */
export type Census = ReadonlyMap<string, string>;

/** A namespace with one cluster, as a test sees it from outside. */
export class World extends UserCluster {
  async cluster(): Promise<EtcdCluster | undefined> {
    const { items } = await kube.list(ETCD_CLUSTERS, { namespace: this.namespace }, OPTIONS);
    return items.find(({ metadata }) => metadata.name === this.name);
  }

  async objects(): Promise<readonly KubeObject[]> {
    const lists = await Promise.all(KINDS.map((kind) => kube.list(kind, { namespace: this.namespace }, OPTIONS)));
    return lists.flatMap(({ items }) => items);
  }

  async census(): Promise<Census> {
    const staying = (await this.objects()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return new Map(staying.map(({ kind, metadata }) => [`${kind} ${metadata.name}`, metadata.uid]));
  }

  /** The member list confirmed by a quorum, from any ready member. */
  async memberList(): Promise<MemberList> {
    return await etcd.memberList(await this.#endpoint(), { ...OPTIONS, deadlineMs: 2_000, linearizable: true });
  }

  /** Makes this member the leader, and waits until the status shows it. */
  async lead(name: string): Promise<void> {
    const { members } = await this.memberList();
    const [target, leader] = [members.find((member) => member.name === name), (await this.get()).status?.leader];
    if (target === undefined || leader === undefined)
      throw new Error(`${name} is no member, or the cluster has no leader`);
    const endpoint = await eventually(() => this.#endpoint(leader));
    if (leader !== name) await etcd.moveLeader(endpoint, target.id, OPTIONS);
    await eventually(async () => {
      const now = (await this.get()).status?.leader;
      if (now !== name) throw new Error(`${now} leads instead of ${name}`);
    });
  }

  async write(key: string, value: string): Promise<void> {
    const endpoint = await eventually(() => this.#endpoint()); // pods become ready a moment after the cluster
    await etcd.put(endpoint, key, value, OPTIONS);
  }

  async readBack(key: string): Promise<string | undefined> {
    const found = await etcd.get(await this.#endpoint(), key, OPTIONS);
    return found === undefined ? undefined : new TextDecoder().decode(found.value);
  }

  /** The endpoint of this member, or of any, if it is ready. */
  async #endpoint(name?: string): Promise<Endpoint> {
    const { items } = await kube.list(PODS, { namespace: this.namespace }, OPTIONS);
    const able = items.filter((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined);
    const pod = able.find(({ spec }) => name === undefined || spec?.hostname === name);
    const identity = pod && (await this.#identity());
    const endpoint = pod && endpointOf(pod, { identityOf: () => identity });
    if (endpoint?.is !== "present") throw new Error(`${this.namespace}: ${name ?? "every member"} is not ready`);
    return endpoint.value;
  }

  /** The certificate in the Secret for applications, if there is one. */
  async #identity(): Promise<Identity | undefined> {
    const name = applicationCertificateName(this.name);
    const found = await kube.find(SECRETS, { namespace: this.namespace, name }, OPTIONS);
    if (found.is !== "present") return undefined;
    const [ca = "", cert = "", key = ""] = [TRUST_FILE, CERTIFICATE_FILE, KEY_FILE].map((file) =>
      textIn(found.value, file),
    );
    return { ca, cert, key };
  }

  /** @throws Error saying why the cluster is not Ready yet */
  async mustBeReady(): Promise<void> {
    const cluster = await this.cluster();
    const ready = cluster?.status?.conditions?.find(({ type }) => type === "Ready");
    const isCurrent = ready?.observedGeneration === cluster?.metadata.generation;
    if (ready?.status !== "True" || !isCurrent)
      throw new Error(`${this.namespace} is not ready: ${ready?.reason}: ${ready?.message}`);
  }

  /** The cluster ID that etcd derives from the uid of the EtcdCluster and its first members. */
  expectedClusterId(uid: string, initialMembers: readonly string[]): string {
    const token = clusterToken(this.namespace, this.name, uid);
    const members = initialMembers.map((name) => ({
      name,
      peerUrl: peerUrl(peerHost(this.namespace, this.name, name)),
    }));
    return hexOf(identityFor({ token, members }).clusterId);
  }

  /**
   * The whole state in words that are the same for every namespace. Names replace uids and IDs, and everything random
   * or server-chosen is left out. Equal pictures mean that a user cannot tell which of two clusters had the faults.
   */
  async picture(): Promise<unknown> {
    const objects = await this.objects();
    const cluster = objects.find((object): object is EtcdCluster => object.kind === ETCD_CLUSTERS.kind);
    const members = cluster === undefined ? undefined : await this.memberList();
    const drawn = {
      objects: objects
        .filter((object) => !isLeftOver(object, objects))
        .map(drawObject)
        .sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1)),
      clusterId: members === undefined ? undefined : hexOf(members.clusterId),
      members: members?.members
        .map(({ name, id, peerUrls, isLearner }) => ({ name, id: hexOf(id), peerUrls, isLearner }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    };
    return JSON.parse(this.#withoutChance(JSON.stringify(drawn), objects, cluster, members)) as unknown;
  }

  #withoutChance(
    text: string,
    objects: readonly KubeObject[],
    cluster: EtcdCluster | undefined,
    members: MemberList | undefined,
  ): string {
    const names = new Map<string, string>();
    // Claims outlive their cluster, and with them the token with its uid.
    for (const { metadata } of objects) {
      const { [CLAIM_CLUSTER_TOKEN_ANNOTATION]: token, [CLAIM_CLUSTER_ID_ANNOTATION]: clusterID } =
        metadata.annotations ?? {};
      if (token !== undefined) names.set(token, "TOKEN");
      if (clusterID !== undefined) names.set(clusterID, "CLUSTER-ID");
    }
    for (const object of objects) {
      for (const [n, pem] of authoritiesIn(object).entries())
        names.set(JSON.stringify(pem).slice(1, -1), `CERTIFICATE ${n} of ${object.metadata.name}`);
      for (const [n, pem] of formerlyTrusted(object).entries()) {
        const text = JSON.stringify(pem).slice(1, -1);
        if (!names.has(text)) names.set(text, `CERTIFICATE ${n} that ${object.metadata.name} has trusted`);
        // The SHA-256 identifies the signing CA to a member.
        for (const each of parsedIn(pem)) names.set(idOf(each), `SHA-256 of ${names.get(text)}`);
      }
      // The revision covers the CAs that a member trusts, which are random.
      if (isPeer(object) && object.spec.tls !== undefined) names.set(revisionOf(object.spec), "ITS REVISION");
    }
    names.set(this.namespace, "NAMESPACE");
    for (const { kind, metadata } of objects) names.set(metadata.uid, `UID of ${kind} ${metadata.name}`);
    for (const { id, name } of cluster?.status?.identity?.initialMembers ?? []) names.set(id, `FIRST ID of ${name}`);
    for (const { id, name } of members?.members ?? [])
      if (!names.has(hexOf(id))) names.set(hexOf(id), `LATER ID of ${name}`);
    for (const { metadata } of objects) {
      const id = metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION];
      if (id !== undefined && !names.has(id)) names.set(id, `OLD ID of ${metadata.name}`);
    }
    return [...names].reduce((changed, [chance, name]) => changed.replaceAll(chance, name), text);
  }
}

/** A pod without EtcdPeer stays until Kubernetes' garbage collector deletes it. */
function isLeftOver(object: KubeObject, all: readonly KubeObject[]): boolean {
  if (object.kind !== PODS.kind) return false;
  const { hostname } = (object as Pod).spec ?? {};
  return !all.some(({ kind, metadata }) => kind === ETCD_PEERS.kind && metadata.name === hostname);
}

function isPeer(object: KubeObject): object is EtcdPeer {
  return object.kind === ETCD_PEERS.kind;
}

/** CAs that a member trusted in its previous template. */
function formerlyTrusted(object: KubeObject): readonly string[] {
  const { peer, client } = (isPeer(object) ? object.spec.previous?.tls : undefined) ?? {};
  return [peer, client].flatMap((side) => certificatesIn(side?.trust ?? ""));
}

/** The CA bundle in a CA's Secret. */
function authoritiesIn(object: KubeObject): readonly string[] {
  if (object.kind !== SECRETS.kind || !isAuthorityName(object.metadata.name)) return [];
  return certificatesIn(textIn(object as Secret, TRUST_FILE) ?? "");
}

function textIn({ data }: Secret, file: string): string | undefined {
  const text = data?.[file];
  return text === undefined ? undefined : Buffer.from(text, "base64").toString();
}

function textOf(drawn: { kind: string; name: string }): string {
  return `${drawn.kind} ${drawn.name}`;
}

/** The spec of an object, and the operator's part of its status. */
function drawObject(object: KubeObject) {
  const { kind, metadata } = object;
  const { spec, status } = object as { spec?: Record<string, unknown>; status?: EtcdCluster["status"] };
  const isPod = kind === PODS.kind;
  const isBudget = kind === POD_DISRUPTION_BUDGETS.kind; // its number follows the pods that happen to run
  return {
    kind,
    // The last part of a pod's name is random.
    name: isPod ? metadata.name.replace(/-[a-z0-9]{5}$/, "") : metadata.name,
    // Node and zone of a pod are random.
    labels: Object.entries(metadata.labels ?? {}).filter(([label]) => !label.startsWith("topology.kubernetes.io/")),
    annotations: ours(metadata.annotations),
    owners: metadata.ownerReferences,
    finalizers: metadata.finalizers,
    isGoing: metadata.deletionTimestamp !== undefined,
    // Number of changes of its spec: a duplicate write would show here.
    generation: isPod || isBudget ? undefined : metadata.generation,
    spec: isPod
      ? { hostname: (object as Pod).spec?.hostname, isReady: isReady(object as Pod) }
      : isBudget
        ? { selector: spec?.selector }
        : drawSpec(spec),
    status: object.apiVersion.startsWith(GROUP) ? drawStatus(status) : undefined,
  };
}

/** The hash covers tokens and uids, and the spec itself is compared; times differ. */
const CHANCE: Readonly<Record<string, string>> = {
  [APPLIED_HASH_ANNOTATION]: "A HASH",
  [QUARANTINE_TIME_ANNOTATION]: "A TIME",
};

/** Kubernetes' own annotations name the node of a volume. */
function ours(annotations: Readonly<Record<string, string>> = {}): Record<string, string> {
  const entries = Object.entries(annotations).filter(([key]) => key.startsWith(`${GROUP}/`));
  return Object.fromEntries(entries.map(([key, value]) => [key, CHANCE[key] ?? value]));
}

/** Addresses, volumes and nodes are random. */
function drawSpec({ clusterIP, clusterIPs, volumeName, ...spec }: Record<string, unknown> = {}): object {
  return {
    ...spec,
    isHeadless: clusterIP === "None",
    hasAddress: clusterIPs !== undefined,
    hasVolume: volumeName !== undefined,
  };
}

/** The leader and the fingerprints of CAs are random; times and messages differ. */
function drawStatus(status: EtcdCluster["status"] = {}): object {
  const { leader: _, conditions, members, update, tls, quarantinedClaims, ...said } = status;
  const { startTime: _since, stopped, ...done } = update ?? {};
  return {
    ...said,
    ...(update === undefined ? {} : { update: { ...done, stopped: stopped?.member } }),
    ...(tls === undefined ? {} : { tls: { ...tls, certificates: tls.certificates?.map(({ name }) => name) } }),
    quarantinedClaims: quarantinedClaims?.count,
    members: members?.map(({ role, since: __, message: ___, ...member }) => ({
      ...member,
      role: role === "Learner" ? role : "Voter", // The leader differs between runs.
    })),
    conditions: conditions?.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`).sort(),
  };
}
