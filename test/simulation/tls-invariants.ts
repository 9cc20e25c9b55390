import {
  CERTIFICATE_FILE,
  CLIENT_TRUST_ANNOTATION,
  clientAuthorityName,
  clientServiceName,
  KEY_FILE,
  PEER_LABEL,
  PEER_TRUST_ANNOTATION,
  peerAuthorityName,
  REMOVAL_ANNOTATION,
  ROTATE_CA_ANNOTATIONS,
  ROTATED_FOR_ANNOTATION,
  TRUST_FILE,
  trustConfigMapName,
} from "#api/names.ts";
import type { MemberTemplate } from "#api/revision.ts";
import { clientCertificatesOf, providerOf, type Side } from "#api/tls.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { NEXT_KEY, textIn } from "#certificates/facts.ts";
import { idOf } from "#certificates/pem.ts";
import { signersOf } from "#certificates/trust.ts";
import { SIDES } from "#cluster-tls/read/purposes.ts";
import type { TlsIdentity } from "#etcd/endpoint.ts";
import { hexOf } from "#etcd/types.ts";
import type { Process } from "#kit/world/etcd.ts";
import { REREAD_WITHIN_MS } from "#kit/world/operator.ts";
import { isVouched, type Pair, pairIn, secretsIn, trustIn, whyNotServed } from "#kit/world/tls.ts";
import type { World } from "#kit/world/world.ts";
import { CONFIG_MAPS, controllerOf, PODS, REPLICA_SETS, SECRETS, type Secret } from "#kube/kinds.ts";
import { isOver } from "#kube/pod.ts";
import type { Invariant, Memory } from "./memory.ts";

// Certificates promise that no running member is cut off by one. Excused is what no operator could prevent: a person
// overwrote a Secret, a certificate expired while no operator ran, or a kubelet is unreachable.

/** How long a client may still use the previous content of its Secret, in milliseconds. */
const CLIENT_LAG_MS = 90_000;

/** Running members by EtcdCluster, where at least one of them speaks TLS. */
function secured(world: World): ReadonlyMap<EtcdCluster, readonly Process[]> {
  const found = new Map<EtcdCluster, readonly Process[]>();
  if (world.api.list(SECRETS).length === 0) return found;
  for (const cluster of world.api.list(ETCD_CLUSTERS)) {
    const { clusterID } = cluster.status?.identity ?? {};
    const running = [...world.etcd.processes.values()].filter(
      ({ data, clusterUid }) => hexOf(data.clusterId) === clusterID && clusterUid === cluster.metadata.uid,
    );
    const isSecured = running.some(({ speeches: { peer, client } }) =>
      [peer, client].some(({ schemes }) => schemes.has("https")),
    );
    if (isSecured) found.set(cluster, running);
  }
  return found;
}

function isTimely(pair: Pair | undefined, nowMs: number): boolean {
  return pair !== undefined && pair.fromMs <= nowMs && nowMs < pair.untilMs;
}

/**
 * Whether the pod is terminating on a reachable kubelet. On a node that is cut off it runs on, whatever the pod's
 * status is.
 */
function isEnding({ api, kubelets }: World, { podUid }: Process): boolean {
  const pod = api.byUid(PODS, podUid);
  return pod?.metadata.deletionTimestamp !== undefined && kubelets.isHeardOf(pod);
}

/** Whether the EtcdPeer for which the pod was made still exists. */
function isOfPeer({ api }: World, { podUid }: Process): boolean {
  const pod = api.byUid(PODS, podUid);
  const set = pod && api.byUid(REPLICA_SETS, controllerOf(pod)?.uid);
  return set !== undefined && api.byUid(ETCD_PEERS, controllerOf(set)?.uid) !== undefined;
}

/** Whether the kubelet updates Secrets in the pod of this member. */
function receivesSecrets({ api, kubelets }: World, { podUid }: Process): boolean {
  const pod = api.byUid(PODS, podUid);
  return pod !== undefined && pod.metadata.deletionTimestamp === undefined && kubelets.isHeardOf(pod);
}

export const membersTrustEachOther: Invariant = {
  name: "members trust each other",
  promise: "Running members trust each other during every certificate change, until a certificate expires.",
  breaks(event, world, memory) {
    if (event.is !== "step") return undefined;
    const { nowMs } = world.time;
    for (const [cluster, processes] of secured(world)) {
      if (memory.tls.isTampered(cluster)) continue;
      // A member without a certificate, or with an expired one, needs no trust to be reached.
      const asked = processes.filter(
        (each) =>
          (each.speeches.peer.trust.length === 0 || isTimely(each.speeches.peer.pair(), nowMs)) &&
          receivesSecrets(world, each),
      );
      for (const one of asked)
        for (const other of asked)
          if (one.podUid < other.podUid && !world.etcd.believe(one, other))
            return `${one.peer} and ${other.peer} do not trust each other`;
    }
    return undefined;
  },
};

export const clientsHaveAScheme: Invariant = {
  name: "clients have a scheme",
  promise: "At no moment do some members serve only clients with TLS, and others only clients without.",
  breaks(event, world) {
    if (event.is !== "step") return undefined;
    for (const running of secured(world).values()) {
      // Pods of a deleted EtcdPeer are about to end.
      const processes = running.filter((each) => !isEnding(world, each) && isOfPeer(world, each));
      const only = (scheme: string) =>
        processes.find(({ speeches: { client } }) => client.schemes.size === 1 && client.schemes.has(scheme));
      const [plain, safe] = [only("http"), only("https")];
      if (plain !== undefined && safe !== undefined)
        return `${plain.peer} serves no client with TLS, and ${safe.peer} no client without`;
    }
    return undefined;
  },
};

export const applicationsAreServed: Invariant = {
  name: "applications are served",
  promise:
    "A client with the current or the previous content of the application Secret is trusted, and trusts every member.",
  breaks(event, world, memory) {
    if (event.is !== "step") return undefined;
    const { nowMs } = world.time;
    for (const [cluster, processes] of secured(world)) {
      if (memory.tls.isTampered(cluster)) continue;
      for (const secret of memory.tls.applicationOf(world, cluster, CLIENT_LAG_MS)) {
        if (!isTimely(pairIn(secret), nowMs)) continue;
        const served = processes.filter(
          (each) =>
            each.speeches.client.schemes.has("https") &&
            isTimely(each.speeches.client.pair(), nowMs) &&
            receivesSecrets(world, each),
        );
        for (const each of served) {
          const clocks = { ownMs: nowMs, memberMs: nowMs };
          const why = whyNotServed(each.speeches, identityOf(secret, cluster), clocks);
          if (why !== undefined)
            return `${each.peer} does not serve a client with Secret ${secret.metadata.name}: ${why}`;
        }
      }
    }
    return undefined;
  },
};

const identities = new WeakMap<Secret, TlsIdentity>();

/** TLS identity of an application that mounts the Secret. */
function identityOf(secret: Secret, { metadata: { namespace, name } }: EtcdCluster): TlsIdentity {
  const known = identities.get(secret) ?? {
    ca: textIn(secret, TRUST_FILE),
    cert: textIn(secret, CERTIFICATE_FILE),
    key: textIn(secret, KEY_FILE),
    serverName: `${clientServiceName(name)}.${namespace}.svc`,
  };
  identities.set(secret, known);
  return known;
}

export const trustedFirst: Invariant = {
  name: "trusted first",
  promise:
    "Every running member that verifies certificates trusts the CA of a certificate that the operator writes, unless it did not trust the previous one either.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== SECRETS) return undefined;
    const after = event.after as Secret | undefined;
    const pair = pairIn(after);
    const side = after === undefined ? undefined : sideOf(after);
    if (after === undefined || pair === undefined || side === undefined) return undefined;
    const before = pairIn(event.before as Secret | undefined);
    const isShownByMembers = /-(peer|server)-tls$/.test(after.metadata.name);
    const doubts = (process: Process, one: Pair) => !isVouched(process.speeches[side].trust, one);
    const doubting = [...world.etcd.processes.values()].filter(
      (process) =>
        process.clusterUid === controllerOf(after)?.uid &&
        !isEnding(world, process) &&
        (isShownByMembers || process.speeches[side].asks) &&
        process.speeches[side].trust.length > 0 &&
        doubts(process, pair) &&
        !(before !== undefined && doubts(process, before)),
    );
    return doubting.length === 0
      ? undefined
      : `Secret ${after.metadata.name} has a certificate that ${doubting.map(({ peer }) => peer).join(", ")} would not trust`;
  },
};

/**
 * Side on which members verify the certificate in this Secret. Undefined for a CA, which is not presented to members.
 */
function sideOf({ metadata: { name } }: Secret): "peer" | "client" | undefined {
  if (name.endsWith("-ca")) return undefined;
  return name.endsWith("-peer-tls") ? "peer" : "client";
}

/** Whether the member's pod has a content of a Secret that was replaced before the operator's `--reread-within`. */
function isLate(world: World, { tls }: Memory, { podUid }: Process): boolean {
  const pod = world.api.byUid(PODS, podUid);
  if (pod === undefined) return false;
  const mounted = secretsIn(pod).flatMap((name) => world.kubelets.mounts.of(pod, name) ?? []);
  return mounted.some((secret) => tls.outdatedForMs(world, secret) > REREAD_WITHIN_MS);
}

/** Whether the member presents a peer certificate that has expired: only a renewal that came too late leaves one. */
function hasExpired({ speeches: { peer } }: Process, nowMs: number): boolean {
  const pair = peer.pair();
  return pair !== undefined && pair.untilMs <= nowMs;
}

export const noRemovalOverTrust: Invariant = {
  name: "no removal over trust",
  promise:
    "No running member is given up because a person overwrote a Secret, unless its kubelet updates Secrets late. A certificate that expired while no operator ran does not count.",
  breaks(event, world, memory) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== ETCD_PEERS) return undefined;
    const removal = event.after?.metadata.annotations?.[REMOVAL_ANNOTATION];
    if (removal !== "replacement" || event.before?.metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined)
      return undefined;
    const all = [...world.etcd.processes.values()].filter(
      (process) =>
        !process.isHidden &&
        !process.isCutOff &&
        !isLate(world, memory, process) &&
        !hasExpired(process, world.time.nowMs),
    );
    const given = all.find(({ data }) => hexOf(data.memberId) === (event.after as EtcdPeer).spec.memberID);
    const doubting = all.find(
      (other) =>
        given !== undefined && other.data.clusterId === given.data.clusterId && !world.etcd.believe(given, other),
    );
    return doubting && `${given?.peer} is given up, and ${doubting.peer} only does not trust it`;
  },
};

export const caKeysStay: Invariant = {
  name: "CA keys stay",
  promise: "A write of the operator never loses the key of a CA, except when a rotation replaces the CA.",
  breaks(event) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== SECRETS) return undefined;
    const [before, after] = [event.before, event.after] as (Secret | undefined)[];
    if (before === undefined) return undefined;
    if (after === undefined) return `Secret ${before.metadata.name} is deleted`;
    if (!before.metadata.name.endsWith("-ca") || textIn(before, KEY_FILE) === textIn(after, KEY_FILE)) return undefined;
    const isNext = textIn(before, NEXT_KEY) !== "" && textIn(before, NEXT_KEY) === textIn(after, KEY_FILE);
    return isNext ? undefined : `the key in Secret ${before.metadata.name} is overwritten`;
  },
};

export const keysStayInSecrets: Invariant = {
  name: "keys stay in Secrets",
  promise: "No key is written to any other object than a Secret.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource === SECRETS) return undefined;
    if (world.api.list(SECRETS).length === 0) return undefined;
    const isTold = event.after !== undefined && JSON.stringify(event.after).includes("PRIVATE KEY");
    return isTold ? `${event.resource.kind} ${event.after?.metadata.name} has a key` : undefined;
  },
};

const LEAVES_OF: Readonly<Record<Side, readonly string[]>> = {
  peer: ["peer-tls"],
  client: ["server-tls", "operator-tls", "client"],
};

/** State of a cluster's certificates by the content of its Secrets and the world's clock. */
export interface Certification {
  /** A missing or invalid certificate. */
  readonly wrong?: string;
  /** A valid state that is not the final one. */
  readonly unfinished?: string;
  /** Whether only a person can repair the problem. */
  readonly isHopeless?: boolean;
}

/** Certification of the first side with a problem, or else of the first unfinished side. */
export function certificationOf(world: World, cluster: EtcdCluster): Certification {
  const peers = peersOf(world, cluster);
  // Members that have yet to switch TLS off still need their certificates.
  const sides = SIDES.filter(
    (side) => providerOf(cluster.spec, side) === "Operator" || peers.some(({ spec }) => spec.tls?.[side] !== undefined),
  );
  const all = sides.map((side) => sideOfCluster(world, cluster, side));
  return (
    all.find(({ isHopeless }) => isHopeless === true) ??
    all.find(({ wrong }) => wrong !== undefined) ??
    all.find(({ unfinished }) => unfinished !== undefined) ??
    {}
  );
}

function sideOfCluster(world: World, cluster: EtcdCluster, side: Side): Certification {
  const { nowMs } = world.time;
  const { namespace, name } = cluster.metadata;
  const find = (secretName: string) => world.api.find(SECRETS, { namespace, name: secretName });
  const own = side === "peer" ? peerAuthorityName(name) : clientAuthorityName(name);
  const authority = find(own);
  const signer = pairIn(authority);
  const trust = trustIn(textIn(authority ?? {}, TRUST_FILE));
  const isBroken = authority !== undefined && (signer?.chain[0]?.ca !== true || !isVouched(trust, signer));
  // A missing CA is replaced by a new one; a broken CA is not.
  const isTrusted = everyMemberTrusts(world, cluster, side, signer);
  for (const leaf of LEAVES_OF[side]) {
    const shown = `${name}-${leaf}`;
    const [secret, pair] = [find(shown), pairIn(find(shown))];
    const by = trustIn(textIn(secret ?? {}, TRUST_FILE));
    const wrong =
      secret === undefined || pair === undefined || !isVouched(by, pair)
        ? `Secret ${shown} has no valid certificate`
        : isTimely(pair, nowMs)
          ? undefined
          : `Secret ${shown} has an expired or not yet valid certificate`;
    if (wrong !== undefined) return { wrong, isHopeless: isBroken || !isTrusted };
    // A person overwrote the CA's Secret with another valid CA: the operator would cut off all members if it used that.
    const isInUse = leaf === LEAVES_OF[side][0];
    if (isInUse && authority !== undefined && !isTrusted && pair !== undefined && !isVouched(trust, pair))
      return { wrong: `Secret ${own} lacks the CA that signed Secret ${shown}`, isHopeless: true };
    // A person overwrote both Secrets with valid content of another cluster: the key of the CA that members trust is
    // lost.
    const isBelieved = (text: string) => text === "" || (pair !== undefined && isVouched(trustIn(text), pair));
    if (side === "peer" && !isTrusted && !memberTrusts(world, cluster, side).every(isBelieved))
      return { wrong: `Secret ${shown} is signed by a CA that members do not trust`, isHopeless: true };
  }
  if (authority === undefined) return { wrong: `Secret ${own} is missing` };
  if (isBroken) return { wrong: `Secret ${own} has no valid CA`, isHopeless: true };
  if (textIn(authority, NEXT_KEY) !== "") return { unfinished: `Secret ${own} has a next CA` };
  if (trust.length !== 1) return { unfinished: `Secret ${own} has ${trust.length} CAs to trust` };
  const behind = LEAVES_OF[side].find(
    (leaf) => textIn(find(`${name}-${leaf}`) ?? {}, TRUST_FILE) !== textIn(authority, TRUST_FILE),
  );
  const map =
    side === "client" ? world.api.find(CONFIG_MAPS, { namespace, name: trustConfigMapName(name) }) : undefined;
  if (side === "client" && map?.data?.[TRUST_FILE] !== textIn(find(`${name}-server-tls`) ?? {}, TRUST_FILE))
    return {
      unfinished: `ConfigMap ${trustConfigMapName(name)} does not have the CA bundle of the server certificate`,
    };
  const asked = cluster.metadata.annotations?.[ROTATE_CA_ANNOTATIONS[side]];
  if (asked !== undefined && authority.metadata.annotations?.[ROTATED_FOR_ANNOTATION] !== asked)
    return { unfinished: `a CA rotation was asked for, and Secret ${own} still has the previous CA` };
  return behind === undefined
    ? {}
    : { unfinished: `Secret ${name}-${behind} has a different CA bundle than Secret ${own}` };
}

/**
 * CA bundles in PEM that each member is to trust. A member on a node that is down may still run with the previous one.
 */
function memberTrusts(world: World, cluster: EtcdCluster, side: Side): readonly string[] {
  return peersOf(world, cluster).map(({ spec }) => spec.tls?.[side]?.trust ?? "");
}

function peersOf({ api }: World, { metadata }: EtcdCluster): readonly EtcdPeer[] {
  return api.list(ETCD_PEERS).filter((peer) => controllerOf(peer)?.uid === metadata.uid);
}

/** Whether every member trusts the CA, by the pods that exist and by its EtcdPeer. Pods that are over are left out. */
function everyMemberTrusts(world: World, cluster: EtcdCluster, side: Side, signer: Pair | undefined): boolean {
  const peers = peersOf(world, cluster);
  const pods = world.api
    .list(PODS)
    .filter((pod) => !isOver(pod) && peers.some((peer) => pod.metadata.labels?.[PEER_LABEL] === peer.metadata.name));
  const annotation = side === "peer" ? PEER_TRUST_ANNOTATION : CLIENT_TRUST_ANNOTATION;
  const texts = [
    ...memberTrusts(world, cluster, side),
    ...pods.map((pod) => pod.metadata.annotations?.[annotation] ?? ""),
  ];
  return [...new Set(texts)].every((text) => signer !== undefined && isVouched(trustIn(text), signer));
}

/** TLS configuration of members when all certificate changes are complete. */
export function wantedTls(world: World, { metadata, spec }: EtcdCluster): MemberTemplate["tls"] {
  const { namespace, name } = metadata;
  const side = (of: Side) => {
    const secretName = `${name}-${of === "peer" ? "peer" : "server"}-tls`;
    const secret = world.api.find(SECRETS, { namespace, name: secretName });
    if (providerOf(spec, of) === "None" || secret === undefined) return undefined;
    const trust = textIn(secret, TRUST_FILE);
    const all = trustIn(trust);
    const [signer] = all.length > 1 ? signersOf(pairIn(secret)?.chain ?? [], all) : [];
    return { secretName, trust, ...(signer === undefined ? {} : { signer: idOf(signer) }) };
  };
  const [peer, client] = [side("peer"), side("client")];
  if (spec.tls === undefined || (peer === undefined && client === undefined)) return undefined;
  const { minVersion, cipherSuites } = spec.tls;
  return {
    ...(peer === undefined ? {} : { peer }),
    ...(client === undefined ? {} : { client: { ...client, clientCertificates: clientCertificatesOf(spec) } }),
    ...(minVersion === undefined ? {} : { minVersion }),
    ...(cipherSuites === undefined ? {} : { cipherSuites }),
  };
}

/** Whether a certificate problem exists that only a person can repair. */
export function isUncertifiable(world: World): boolean {
  return world.api.list(ETCD_CLUSTERS).some((cluster) => certificationOf(world, cluster).isHopeless === true);
}

/** Whether a certificate change is in progress or has yet to reach a pod. */
export function isBeingCertified(world: World): boolean {
  if (world.api.list(SECRETS).length === 0) return false;
  return (
    world.kubelets.mounts.isBehind() ||
    world.api.list(ETCD_CLUSTERS).some((cluster) => {
      const { wrong, unfinished } = certificationOf(world, cluster);
      return wrong !== undefined || unfinished !== undefined;
    })
  );
}
