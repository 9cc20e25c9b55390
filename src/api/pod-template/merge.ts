import { isEmpty } from "#api/meaning.ts";
import { MERGE_KEYS } from "#api/pod-template/merge-keys.ts";
import { isMap } from "#base/json.ts";

// How is a user's template merged into the operator's?
//   As by `kubectl patch --type=strategic`: a value replaces the operator's, maps are merged, null removes a value, and
//   a list replaces the operator's. Items of lists with a merge key (containers, volumes, env, …) are merged with the
//   operator's item of the same key.
// How does the merge differ from kubectl's?
//   In the order: the operator's items stay first, and new items follow. kubectl puts new items first. Then the kubelet
//   would pull sidecar images before it starts etcd, `kubectl logs` would show a sidecar, and variables could not refer
//   to the operator's.
//   In the placement: the operator's affinity and topologySpreadConstraints are defaults. They are not merged with the
//   user's. An empty value counts as absent, because many clients leave empty values out.
// How are patch directives such as `$patch` handled?
//   They do not belong in a pod template; whyNotTemplate refuses them.
// Why not a library?
//   Strategic merge needs the merge keys of Kubernetes' Go types, which no package on npm has.

/** Value of `spec.podTemplate`: a partial pod. The API server validates the merged pod. */
export interface PartialPodTemplate {
  readonly metadata?:
    | {
        readonly labels?: Readonly<Record<string, string>> | undefined;
        readonly annotations?: Readonly<Record<string, string>> | undefined;
      }
    | undefined;
  readonly spec?: object | undefined;
}

type Values = Readonly<Record<string, unknown>>;

/**
 * Fields of the operator's default placement. If the user sets one of them to anything but an empty value, the default
 * of both is dropped.
 */
const PLACEMENT = ["affinity", "topologySpreadConstraints"];

/**
 * Merges the user's pod template into the operator's, without changing either. The result has the operator's type only
 * if the user's template is valid.
 */
export function mergePodTemplate<T extends { readonly spec: object }>(ours: T, theirs: PartialPodTemplate): T {
  const asked = (theirs.spec ?? {}) as Values;
  const isPlaced = PLACEMENT.some((field) => Object.hasOwn(asked, field) && !isEmpty(asked[field]));
  const kept = Object.entries(ours.spec).filter(([field]) => !isPlaced || !PLACEMENT.includes(field));
  return mergedMap({ ...ours, spec: Object.fromEntries(kept) }, theirs as Values, "") as T;
}

/** @param path field path without list indexes, as in MERGE_KEYS */
function merged(ours: unknown, theirs: unknown, path: string): unknown {
  if (isMap(theirs)) return mergedMap(isMap(ours) ? ours : {}, theirs, path);
  const key = MERGE_KEYS[path];
  return key !== undefined && Array.isArray(ours) && Array.isArray(theirs)
    ? mergedList(ours, theirs, key, path)
    : theirs;
}

function mergedMap(ours: Values, theirs: Values, path: string): Values {
  const result = new Map(Object.entries(ours));
  for (const [field, value] of Object.entries(theirs)) {
    const at = path === "" ? field : `${path}.${field}`;
    if (value === null) result.delete(field);
    else result.set(field, merged(result.get(field), value, at));
  }
  return Object.fromEntries(result);
}

function mergedList(ours: readonly unknown[], theirs: readonly unknown[], key: string, path: string): unknown[] {
  const result = [...ours];
  /** Index of the item with each value of the key. Items without a key are not merged. */
  const places = new Map<unknown, number>();
  const note = (item: unknown, place: number): void => {
    if (isMap(item) && item[key] !== undefined) places.set(item[key], place);
  };
  result.forEach(note);
  for (const item of theirs) {
    const found = isMap(item) ? places.get(item[key]) : undefined;
    if (found !== undefined) result[found] = merged(result[found], item, path);
    else note(item, result.push(item) - 1);
  }
  return result;
}
