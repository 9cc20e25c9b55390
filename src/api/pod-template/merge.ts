import { MERGE_KEYS } from "#api/pod-template/merge-keys.ts";
import { isMap } from "#base/json.ts";

// What does it mean to merge a template of the user's into ours?
//   The same as `kubectl patch --type=strategic`: a value takes the place of ours, maps are merged, null takes ours away, a list is
//   replaced, and items of lists with a merge key (containers, volumes, env, …) are merged with ours of the same key.
// Where does it differ?
//   In the order: our items stay first, and what is new comes behind them. kubectl puts it before them, and then the kubelet would pull
//   the images of sidecars before it starts etcd, `kubectl logs` would show a sidecar, and a variable could not refer to one of ours.
//   In the placement: affinity and topologySpreadConstraints of ours are a default for who says nothing, and nothing to merge with.
// And the directives of such a patch, `$patch` and its like?
//   They are no part of a pod template; whyNotTemplate refuses them.

/** What people write as `spec.podTemplate`: a part of a pod. Whether it makes a good one is for the API server to say. */
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

/** Where pods of a member may run. Whoever says one of them has thought about all of it. */
const PLACEMENT = ["affinity", "topologySpreadConstraints"];

/** Our pod template with the wishes of the user. Neither of the two is changed. It has the type of ours only if the wishes are valid. */
export function mergePodTemplate<T extends { readonly spec: object }>(ours: T, theirs: PartialPodTemplate): T {
  const isPlaced = PLACEMENT.some((field) => Object.hasOwn(theirs.spec ?? {}, field));
  const kept = Object.entries(ours.spec).filter(([field]) => !isPlaced || !PLACEMENT.includes(field));
  return mergedMap({ ...ours, spec: Object.fromEntries(kept) }, theirs as Values, "") as T;
}

/** @param path of the value, without places in lists */
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
  for (const item of theirs) {
    const found = result.findIndex((each) => isMap(each) && isMap(item) && each[key] === item[key]);
    if (found === -1) result.push(item);
    else result[found] = merged(result[found], item, path);
  }
  return result;
}
