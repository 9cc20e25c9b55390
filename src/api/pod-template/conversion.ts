import { ETCD_CONTAINER } from "#api/names.ts";
import { defined, isMap, record, without } from "#base/json.ts";

// v1alpha1 says three things of a pod: its annotations, the resources of etcd's container and an affinity. v1beta1 says them, and all else,
// as a Pod does.

type Json = Readonly<Record<string, unknown>>;

/** @param template of v1alpha1 @param beyond what v1alpha1 could not say of it */
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

/** @returns what v1alpha1 can say of it, and what it cannot */
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

/** What is said at all; `undefined` when it is nothing. */
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

/** Of etcd's container the name stays, as the place in the list, unless it says nothing else and stands alone. */
function withoutResources(containers: unknown, resources: unknown): unknown {
  if (resources === undefined) return containers;
  const others = list(containers).map((each) => (each.name === ETCD_CONTAINER ? without(each, ["resources"]) : each));
  const isBare = others.length === 1 && Object.keys(others[0] ?? {}).length === 1;
  return isBare ? undefined : others;
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isMap) : [];
}
