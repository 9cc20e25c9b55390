import { OperatorError } from "#base/error.ts";
import type { AnyResource, Ref } from "./kinds.ts";

export type Query = Readonly<Record<string, string | undefined>>;

/** Selects objects of a kind. Selectors have the syntax of the API: `app=etcd,role!=x`, `metadata.name=x`. */
export interface Selection {
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/**
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
 * @throws OperatorError Bug when a namespaced kind has no namespace, or a cluster-scoped kind has one
 */
export function objectPath(resource: AnyResource, ref: Ref, subresource?: string): string {
  const name = encodeURIComponent(requireName(resource, ref));
  const path = `${collectionPath(resource, requireScope(resource, ref.namespace))}/${name}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** The collection in one namespace, or over all of them. */
export function collectionPath(resource: AnyResource, namespace: string | undefined): string {
  const group = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${group}${scope}/${resource.plural}`;
}

/** Namespace in the path of an object or collection; empty without one. */
export function namespaceIn(path: string): string {
  return /^\/apis?\/[^?]*?\/namespaces\/([^/?]+)\//.exec(path)?.[1] ?? "";
}

/** Appends the query; parameters that are undefined are left out. */
export function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value);
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

export function requireScope(resource: AnyResource, namespace: string | undefined): string | undefined {
  if (resource.namespaced === (namespace !== undefined && namespace !== "")) return namespace;
  const should = resource.namespaced ? "needs a namespace" : "has no namespace";
  throw new OperatorError("Bug", `${resource.kind} ${should}; got ${namespace ?? "none"}`);
}

function requireName(resource: AnyResource, ref: Ref): string {
  if (ref.name !== "" && ref.name !== "." && ref.name !== "..") return ref.name;
  throw new OperatorError("Bug", `a ${resource.kind} needs a name; got "${ref.name}"`);
}
