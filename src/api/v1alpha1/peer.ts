import type { z } from "zod";
import { GROUP } from "#api/names.ts";
import type { bootstrapSchema, peerSpecSchema, peerStatusSchema } from "#api/v1alpha1/peer-schema.ts";
import { type KubeObject, type NamespacedMeta, resource } from "#kube/kinds.ts";

// Types only: the schemas make CRDs and tests, and the operator lives without them and their library in memory.

export type EtcdPeerSpec = z.output<typeof peerSpecSchema>;
export type EtcdPeerStatus = z.output<typeof peerStatusSchema>;
export type PeerBootstrap = z.output<typeof bootstrapSchema>;

export interface EtcdPeer extends KubeObject {
  metadata: NamespacedMeta;
  spec: EtcdPeerSpec;
  status?: EtcdPeerStatus;
}

export const ETCD_PEERS = resource<EtcdPeer>({
  group: GROUP,
  version: "v1alpha1",
  kind: "EtcdPeer",
  plural: "etcdpeers",
  namespaced: true,
});
