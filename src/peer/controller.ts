import { ETCD_CONTAINER, PEER_LABEL } from "#api/names.ts";
import { ETCD_PEERS, type EtcdPeerStatus } from "#api/v1beta1/peer.ts";
import { partOf } from "#base/hash.ts";
import type { KubeObject } from "#kube/kinds.ts";
import { actOnPeer, type PeerWrites } from "#peer/act.ts";
import { observePeer, type PeerReads } from "#peer/observe.ts";
import { planPeer } from "#peer/plan.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import { peerStage } from "#peer/stage.ts";
import { failingStatus, mayWait, peerStatus, postponeStatusMs } from "#peer/status.ts";
import { type PeerStep, targetOf } from "#peer/step.ts";
import { StorageClasses } from "#peer/storage-classes.ts";
import { type Controller, type Key, keysNamedBy } from "#runtime/controller.ts";
import { Silences } from "#runtime/silences.ts";
import { statusWriter } from "#runtime/status-writer.ts";

/**
 * Interval of the periodic recheck in milliseconds; each member uses between half and all of it. It can be long because
 * a change of the pod's readiness triggers this controller.
 */
const REST_MS = 15 * 60_000;

/**
 * Pause in milliseconds between the first observations of settled members after a start of the operator: 100 a second.
 * EtcdClusters are observed first, because that also checks the health of their members.
 */
const FIRST_LOOKS_APART_MS = 10;

/**
 * Steps of every normal member start, for which no event is written: an event on the EtcdCluster reports that the
 * member has joined.
 */
const ROUTINE = new Set([
  "create-claim createClaim",
  "replica-set createReplicaSet",
  "replica-set replaceReplicaSet",
  "fence-pod annotatePod",
]);

/** The controller of EtcdPeer: observe, plan, act and status. */
export function peerController(kube: PeerWrites, reads: PeerReads): Controller<PeerSnapshot, PeerStep, EtcdPeerStatus> {
  const silences = new Silences(reads.clock, ETCD_CONTAINER);
  const shared = { ...reads, storageClasses: new StorageClasses(reads.kube) };
  const report = statusWriter({
    kube,
    resource: ETCD_PEERS,
    cache: reads.peers,
    clock: reads.clock,
    failing: failingStatus,
    objectOf: ({ peer }: PeerSnapshot) => peer,
  });
  return {
    name: "peer",
    stageOf: (key) => peerStage(reads.peers.get(key)),
    firstLooksApartMs: FIRST_LOOKS_APART_MS,
    // The interval depends on the uid, so that members observed together at the operator's start are spread out later.
    restMs: (snapshot) => {
      const restMs = Math.round(REST_MS * (0.5 + partOf(snapshot.peer.metadata.uid) / 2));
      return postponeStatusMs(snapshot) || restMs;
    },
    isRoutine: (rule, step) => ROUTINE.has(`${rule} ${step.do}`),
    observe: (key, signal) => observePeer(shared, silences, key, signal),
    plan: planPeer,
    target: targetOf,
    act: (step, snapshot, signal) => actOnPeer(kube, step, snapshot, signal),
    status: peerStatus,
    ...report,
    writeStatus: async (snapshot, status, signal) =>
      mayWait(snapshot, status) ? undefined : await report.writeStatus(snapshot, status, signal),
  };
}

/** The peer of a claim, ReplicaSet or pod, by its label. */
export function peerKeysFor(object: KubeObject): readonly Key[] {
  return keysNamedBy(object, PEER_LABEL);
}
