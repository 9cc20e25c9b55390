import type { z } from "zod";
import { GROUP } from "#api/names.ts";
import type { peerSpecSchema } from "#api/v1beta1/peer-schema.ts";
import type { bootstrapSchema } from "#api/v1beta1/place-schema.ts";
import type { peerStatusSchema } from "#api/v1beta1/status-schema.ts";
import { type KubeObject, type NamespacedMeta, resource } from "#kube/kinds.ts";

// Types only: at run time the operator does not load the schemas and zod, which saves memory.

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
  version: "v1beta1",
  kind: "EtcdPeer",
  plural: "etcdpeers",
  namespaced: true,
});
