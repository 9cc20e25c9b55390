import { ETCD_CONTAINER } from "#api/names.ts";
import { defined, isMap, record, without } from "#base/json.ts";

// A pod has three fields in v1alpha1: annotations, the resources of etcd's container and affinity. All fields of a Pod
// are in v1beta1, in the same places.

type Json = Readonly<Record<string, unknown>>;

/** @param template pod template of v1alpha1 @param beyond fields that only v1beta1 has */
export function podTemplateFromV1alpha1(template: unknown, beyond: unknown): Json | undefined {
  if (template === undefined && beyond === undefined) return undefined;
  const { metadata, resources, affinity } = record(template);
  const { metadata: otherMetadata, spec: otherSpec, ...others } = record(beyond);
  const containers = withResources(record(otherSpec).containers, resources);
  const spec = {
    ...without(record(otherSpec), ["affinity"]),
    ...(containers === undefined ? {} : { containers }),
    ...(affinity === undefined ? {} : { affinity }),
  };
  const isSpecSaid = otherSpec !== undefined || Object.keys(spec).length > 0;
  const isMetadataSaid = metadata !== undefined || otherMetadata !== undefined;
  return {
    ...others,
    ...(isMetadataSaid
      ? { metadata: { ...without(record(otherMetadata), ["annotations"]), ...record(metadata) } }
      : {}),
    ...(isSpecSaid ? { spec } : {}),
  };
}

/** @returns the fields of v1alpha1, and the fields that only v1beta1 has */
export function podTemplateToV1alpha1(template: unknown): { said: Json | undefined; beyond: Json | undefined } {
  if (template === undefined) return { said: undefined, beyond: undefined };
  const { metadata, spec, ...others } = record(template);
  const { annotations, ...otherMetadata } = record(metadata);
  const { affinity, containers, ...otherSpec } = record(spec);
  const resources = etcdIn(containers)?.resources;
  const rest = withoutResources(containers, resources);
  const restOfSpec = { ...otherSpec, ...(rest === undefined ? {} : { containers: rest }) };
  const isSpecSaid = resources !== undefined || affinity !== undefined;
  return {
    said: {
      ...(metadata === undefined ? {} : { metadata: annotations === undefined ? {} : { annotations } }),
      ...(resources === undefined ? {} : { resources }),
      ...(affinity === undefined ? {} : { affinity }),
    },
    beyond: fromBeyond({
      ...others,
      metadata: Object.keys(otherMetadata).length === 0 ? undefined : otherMetadata,
      spec: spec === undefined || (Object.keys(restOfSpec).length === 0 && isSpecSaid) ? undefined : restOfSpec,
    }),
  };
}

/** Removes undefined fields; `undefined` when none is left. */
export function fromBeyond(parts: Json): Json | undefined {
  const said = defined(parts);
  return Object.keys(said).length === 0 ? undefined : said;
}

function etcdIn(containers: unknown): Json | undefined {
  return list(containers).find(({ name }) => name === ETCD_CONTAINER);
}

function withResources(containers: unknown, resources: unknown): unknown {
  if (resources === undefined) return containers;
  if (etcdIn(containers) === undefined) return [{ name: ETCD_CONTAINER, resources }, ...list(containers)];
  return list(containers).map((each) => (each.name === ETCD_CONTAINER ? { ...each, resources } : each));
}

/**
 * Removes the resources of etcd's container. Its name stays to mark its place in the list, unless it is alone there
 * without other fields.
 */
function withoutResources(containers: unknown, resources: unknown): unknown {
  if (resources === undefined) return containers;
  const others = list(containers).map((each) => (each.name === ETCD_CONTAINER ? without(each, ["resources"]) : each));
  const isBare = others.length === 1 && Object.keys(others[0] ?? {}).length === 1;
  return isBare ? undefined : others;
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isMap) : [];
}
