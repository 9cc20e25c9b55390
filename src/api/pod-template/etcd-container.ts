import { ETCD_CONTAINER } from "#api/names.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { isMap } from "#base/json.ts";

type PodTemplate = EtcdPeerSpec["podTemplate"];
export type TemplateContainer = NonNullable<NonNullable<PodTemplate["spec"]>["containers"]>[number];

/** Containers in the template; none when the field is not a list. */
export function containersIn({ spec }: PodTemplate): readonly TemplateContainer[] {
  const containers: unknown = spec?.containers;
  return Array.isArray(containers) ? (containers.filter(isMap) as unknown as readonly TemplateContainer[]) : [];
}

/** The template's entry for etcd's container. */
export function etcdContainerOf(template: PodTemplate): TemplateContainer | undefined {
  return containersIn(template).find(({ name }) => name === ETCD_CONTAINER);
}

/** Compute resources of etcd's own container. */
export function etcdResourcesOf(template: PodTemplate): TemplateContainer["resources"] {
  return etcdContainerOf(template)?.resources;
}
