import { ETCD_CONTAINER, PEER_LABEL } from "#api/names.ts";
import { ETCD_PEERS, type EtcdPeer, type EtcdPeerStatus } from "#api/v1beta1/peer.ts";
import { isSameData, partOf } from "#base/hash.ts";
import { apiVersionOf, type KubeObject } from "#kube/kinds.ts";
import { actOnPeer, type PeerWrites, writeStatus } from "#peer/act.ts";
import { observePeer, type PeerReads } from "#peer/observe.ts";
import { planPeer } from "#peer/plan.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import { peerStage } from "#peer/stage.ts";
import { failingStatus, mayWait, peerStatus, tellsMoreInMs } from "#peer/status.ts";
import { type PeerStep, targetOf } from "#peer/step.ts";
import { StorageClasses } from "#peer/storage-classes.ts";
import type { Controller, Key, Subject } from "#runtime/controller.ts";
import { Silences } from "#runtime/silences.ts";

/** The pod's readiness, which the kubelet watches, wakes this room; the rest is a slow second look, in milliseconds: after half of it, or all. */
const REST_MS = 15 * 60_000;

/**
 * After a start clusters are looked at before their settled members, of which a hundred are looked at in a second: a cluster's look asks them how
 * they are, and what they run by stands.
 */
const FIRST_LOOKS_APART_MS = 10;

/** Steps that every member goes through; an event of its cluster tells when it has joined. */
const ROUTINE = new Set([
  "create-claim createClaim",
  "replica-set createReplicaSet",
  "replica-set replaceReplicaSet",
  "fence-pod annotatePod",
]);

/** Joins what the room of EtcdPeer does: observe, plan, act and status. */
export function peerController(kube: PeerWrites, reads: PeerReads): Controller<PeerSnapshot, PeerStep, EtcdPeerStatus> {
  const silences = new Silences(reads.clock, ETCD_CONTAINER);
  const shared = { ...reads, storageClasses: new StorageClasses(reads.kube) };
  return {
    name: "peer",
    stageOf: (key) => peerStage(reads.peers.get(key)),
    firstLooksApartMs: FIRST_LOOKS_APART_MS,
    // Each has a time of its own: members that were all looked at when the operator started do not come back all at once.
    restMs: (snapshot) => {
      const restMs = Math.round(REST_MS * (0.5 + partOf(snapshot.peer.metadata.uid) / 2));
      return tellsMoreInMs(snapshot) || restMs;
    },
    isRoutine: (rule, step) => ROUTINE.has(`${rule} ${step.do}`),
    observe: (key, signal) => observePeer(shared, silences, key, signal),
    plan: planPeer,
    target: targetOf,
    act: (step, snapshot, signal) => actOnPeer(kube, step, snapshot, signal),
    status: peerStatus,
    writeStatus: (snapshot, status, signal) => {
      const isSame = isSameData(status, snapshot.peer.status ?? {});
      return isSame || mayWait(snapshot, status)
        ? Promise.resolve(undefined)
        : writeStatus(kube, snapshot, status, signal);
    },
    subject: ({ peer }) => subjectOf(peer),
    subjectOf: (key) => {
      const peer = reads.peers.get(key);
      return peer && subjectOf(peer);
    },
    writeFailing: (key, because, signal) => {
      const peer = reads.peers.get(key);
      if (peer === undefined) return Promise.resolve(undefined);
      const status = failingStatus(peer, because, reads.clock.wallMs());
      return isSameData(status, peer.status ?? {})
        ? Promise.resolve(undefined)
        : writeStatus(kube, { peer }, status, signal);
    },
  };
}

function subjectOf({ metadata: { namespace, name, uid } }: EtcdPeer): Subject {
  return { apiVersion: apiVersionOf(ETCD_PEERS), kind: ETCD_PEERS.kind, namespace, name, uid };
}

/** The peer that a labelled object belongs to: claims, ReplicaSets and pods all carry the label. */
export function peerKeysFor(object: KubeObject): readonly Key[] {
  const name = object.metadata.labels?.[PEER_LABEL];
  const { namespace } = object.metadata;
  return name === undefined || namespace === undefined ? [] : [{ namespace, name }];
}
