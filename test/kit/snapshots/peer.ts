import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { CLAIM_RELEASE_ANNOTATION } from "#api/names.ts";
import { ETCD_PEERS, type EtcdPeer, type EtcdPeerStatus } from "#api/v1beta1/peer.ts";
import { peerSpecSchema } from "#api/v1beta1/peer-schema.ts";
import { type Observed, present } from "#base/observed.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { apiVersionOf, type PersistentVolumeClaim, type Pod, type ReplicaSet } from "#kube/kinds.ts";
import { startAnnotations } from "#peer/desired/etcd-flags.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { volumeClaim } from "#peer/desired/volume-claim.ts";
import { type PeerSnapshot, unseenPeer } from "#peer/snapshot.ts";
import { born, endpointStatus, NOW, pod } from "./cluster.ts";

/** How far the member of a snapshot has progressed. */
export type PeerStage = "new" | "claimed" | "starting" | "joined" | "fenced";

const CLUSTER_ID = "1d7f0a5bb4fdd2f0";
const MEMBER_ID = "8e9e05c52164694d";

/** The bootstrap settings of a first member. */
export const BOOTSTRAP = {
  initialClusterState: "New",
  clusterToken: "foo/my-etcd/uid-of-cluster",
  static: {
    initialCluster: ["my-etcd-0", "my-etcd-1", "my-etcd-2"].map((name) => ({ name, host: `${name}.my-etcd.foo.svc` })),
  },
} as const;

interface Given {
  /**
   * Default: "fenced". new: no object; claimed: claim; starting: pod that is not ready; joined: ready, not fenced yet.
   */
  readonly stage?: PeerStage;
  /** The spec as a person would write it. */
  readonly spec?: object;
  readonly status?: EtcdPeerStatus;
  readonly deleting?: boolean;
  readonly finalizers?: readonly string[];
  /** Overrides of the finished snapshot. */
  readonly with?: Partial<PeerSnapshot>;
}

/** A snapshot of the EtcdPeer `my-etcd-0` in namespace `foo`; by default joined, fenced and healthy. */
export function peer(given: Given = {}): PeerSnapshot {
  const stage = given.stage ?? "fenced";
  const bare = bareSnapshot(given, stage !== "fenced");
  if (stage === "new") return { ...bare, ...given.with };
  const claimed: PeerSnapshot = { ...bare, claim: boundClaim(bare) };
  if (stage === "claimed") return { ...claimed, ...given.with };
  const isUp = stage !== "starting";
  const endpoint: Observed<EndpointStatus> | undefined = isUp
    ? present(endpointStatus(CLUSTER_ID, MEMBER_ID, MEMBER_ID))
    : undefined;
  const whole: PeerSnapshot = {
    ...claimed,
    replicaSet: born<ReplicaSet>(replicaSet(claimed)),
    pod: annotated(pod("my-etcd-0", { ready: isUp }), startAnnotations(claimed)),
    endpoint,
    // The release that answers is recorded.
    ...(isUp ? { claim: withRelease(claimed.claim) } : {}),
  };
  return { ...whole, ...given.with };
}

function withRelease(claim: PersistentVolumeClaim | undefined): PersistentVolumeClaim | undefined {
  if (claim === undefined) return undefined;
  const annotations = { ...claim.metadata.annotations, [CLAIM_RELEASE_ANNOTATION]: "3.6.16" };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

function annotated(bare: Pod, annotations: Record<string, string>): Pod {
  return { ...bare, metadata: { ...bare.metadata, annotations: { ...bare.metadata.annotations, ...annotations } } };
}

function boundClaim(snapshot: PeerSnapshot): PersistentVolumeClaim {
  return { ...born<PersistentVolumeClaim>(volumeClaim(snapshot)), status: { phase: "Bound" } };
}

function bareSnapshot(given: Given, mayBootstrap: boolean): PeerSnapshot {
  const object: EtcdPeer = {
    apiVersion: apiVersionOf(ETCD_PEERS),
    kind: ETCD_PEERS.kind,
    metadata: {
      namespace: "foo",
      name: "my-etcd-0",
      uid: "uid-of-peer",
      resourceVersion: "100",
      generation: 1,
      creationTimestamp: "2026-01-01T11:00:00Z",
      ...(given.finalizers === undefined ? {} : { finalizers: given.finalizers }),
      ...(given.deleting === true ? { deletionTimestamp: "2026-01-01T12:00:00Z" } : {}),
    },
    spec: peerSpecSchema.parse({
      clusterName: "my-etcd",
      version: DEFAULT_VERSION,
      clusterID: CLUSTER_ID,
      clusterToken: BOOTSTRAP.clusterToken,
      memberID: MEMBER_ID,
      ...(mayBootstrap ? { bootstrap: BOOTSTRAP } : {}),
      ...given.spec,
    }),
    ...(given.status === undefined ? {} : { status: given.status }),
  };
  return unseenPeer({ takenAtMs: NOW, peer: object, imageRepository: "registry.example/etcd" });
}
