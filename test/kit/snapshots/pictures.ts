import { CLUSTER_LABEL, PEER_LABEL } from "#api/names.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { present } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import type { Values } from "../../../src/plugin/fields.ts";
import type { ClusterPicture } from "../../../src/plugin/picture.ts";

/** The EtcdCluster of the snapshot, with the status that the operator would write. */
export function seenCluster(snapshot: ClusterSnapshot, change: EtcdClusterStatus = {}): Values {
  const status = clusterStatus(
    snapshot,
    planCluster(snapshot, () => undefined),
  );
  return { ...snapshot.cluster, status: { ...status, ...change } } as unknown as Values;
}

/** What the plugin sees of the snapshot's cluster. */
export function pictureOf(
  snapshot: ClusterSnapshot,
  parts: { readonly [part in keyof ClusterPicture]?: ClusterPicture[part] } = {},
): ClusterPicture {
  return {
    nowMs: NOW,
    cluster: seenCluster(snapshot),
    peers: present(snapshot.peers as unknown as readonly Values[]),
    schedules: present([]),
    users: present([]),
    events: present([]),
    pods: present([]),
    ...parts,
  };
}

/** An event as the core API returns it. @param agoMs how long ago it happened */
export function seenEvent(reason: string, message: string, agoMs: number, given: Values = {}): Values {
  return {
    type: "Normal",
    reason,
    message,
    involvedObject: { kind: "EtcdCluster", name: "my-etcd" },
    eventTime: rfc3339(NOW - agoMs),
    ...given,
  };
}

/** A pod of this member on a node of this zone. */
export function seenPod(name: string, node: string, zone: string): Values {
  const labels = { [CLUSTER_LABEL]: "my-etcd", [PEER_LABEL]: name, "topology.kubernetes.io/zone": zone };
  const status = { containerStatuses: [{ name: "etcd", restartCount: 1 }, { name: "sidecar" }] };
  return { metadata: { name: `${name}-abcde`, labels }, spec: { nodeName: node }, status };
}
