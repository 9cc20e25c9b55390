import { MERGE_KEYS } from "#api/pod-template/merge-keys.ts";
import { isMap } from "#base/json.ts";

/** A field that is not for the author of a pod template to say, or not freely. */
export interface Reserved {
  /** Values that do no harm, null among them where it does none; absent: the field has to be left out. */
  readonly may?: readonly unknown[];
  readonly because: string;
}

/** A map in a template, and its field as people know it. */
export interface Part {
  readonly value: Readonly<Record<string, unknown>>;
  readonly field: string;
}

/** The maps in a list of a map; what is no map is for the API server to refuse. */
export function itemsOf({ value, field }: Part, list: string): readonly Part[] {
  const items = value[list];
  if (!Array.isArray(items)) return [];
  return items.flatMap((item, n) => (isMap(item) ? [{ value: item, field: `${field}.${list}[${n}]` }] : []));
}

/** The map in a field of a map; an empty one when there is none. */
export function mapIn({ value, field }: Part, name: string): Part {
  const map = value[name];
  return { value: isMap(map) ? map : {}, field: `${field}.${name}` };
}

export function whyNotFields({ value, field }: Part, fields: Readonly<Record<string, Reserved>>): readonly string[] {
  return Object.entries(fields)
    .filter(([name, { may }]) => Object.hasOwn(value, name) && may?.includes(value[name]) !== true)
    .map(([name, reserved]) => `${field}.${name} is ${valueText(value[name])}; it must be ${mayText(reserved)}`);
}

/** Fields in which things of ours are: anything else than what can be merged with them would take their place. */
export function whyNotMerged({ value, field }: Part, names: readonly string[], as: "list" | "map"): readonly string[] {
  const isMerged = as === "list" ? Array.isArray : isMap;
  return names
    .filter((name) => Object.hasOwn(value, name) && !isMerged(value[name]))
    .map(
      (name) =>
        `${field}.${name} is ${valueText(value[name])}; it must be a ${as} or left out: the operator has things of its own in it`,
    );
}

/** https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md */
const DIRECTIVE = /^\$(?:patch|retainKeys|setElementOrder\/.*|deleteFromPrimitiveList\/.*)$/;

/** What cannot be merged, wherever it is in a template. @param path as in MERGE_KEYS */
export function whyNotMergeable(value: unknown, field: string, path = ""): readonly string[] {
  if (Array.isArray(value)) {
    const key = MERGE_KEYS[path];
    return value.flatMap((item, n) => [
      ...(key !== undefined && isMap(item) && (item[key] ?? null) === null
        ? [`${field}[${n}] has no ${key}; items of this list are told apart by it`]
        : []),
      ...whyNotMergeable(item, `${field}[${n}]`, path),
    ]);
  }
  if (!isMap(value)) return [];
  return Object.entries(value).flatMap(([name, each]) =>
    DIRECTIVE.test(name)
      ? [`${field}.${name} is a directive of a patch; it must be left out: this is a part of a pod, and no patch`]
      : whyNotMergeable(each, `${field}.${name}`, path === "" ? name : `${path}.${name}`),
  );
}

/** A value for people; of what is longer than a word, only that it is there. */
export function valueText(value: unknown): string {
  if (value === undefined) return "not set";
  return typeof value === "object" && value !== null ? "set" : JSON.stringify(value);
}

function mayText({ may = [], because }: Reserved): string {
  const values = may.filter((value) => value !== null).map(valueText);
  return `${[...values, "left out"].join(" or ")}: ${because}`;
}
