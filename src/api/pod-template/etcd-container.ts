import { ETCD_CONTAINER } from "#api/names.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { isMap } from "#base/json.ts";

type PodTemplate = EtcdPeerSpec["podTemplate"];
export type TemplateContainer = NonNullable<NonNullable<PodTemplate["spec"]>["containers"]>[number];

/** The containers that people speak of; none where they have written something else than a list of them. */
export function containersIn({ spec }: PodTemplate): readonly TemplateContainer[] {
  const containers: unknown = spec?.containers;
  return Array.isArray(containers) ? (containers.filter(isMap) as unknown as readonly TemplateContainer[]) : [];
}

/** What people say of etcd's own container. */
export function etcdContainerOf(template: PodTemplate): TemplateContainer | undefined {
  return containersIn(template).find(({ name }) => name === ETCD_CONTAINER);
}

/** Compute resources of etcd's own container. */
export function etcdResourcesOf(template: PodTemplate): TemplateContainer["resources"] {
  return etcdContainerOf(template)?.resources;
}
