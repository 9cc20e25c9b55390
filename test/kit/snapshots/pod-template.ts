import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";

type PodTemplate = EtcdPeerSpec["podTemplate"];
type Container = NonNullable<NonNullable<PodTemplate["spec"]>["containers"]>[number];

/** A podTemplate that gives etcd's container these resources. */
export function withResources(resources: NonNullable<Container["resources"]>): PodTemplate {
  return { spec: { containers: [{ name: "etcd", resources }] } };
}
