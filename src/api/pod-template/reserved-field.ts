import { MERGE_KEYS } from "#api/pod-template/merge-keys.ts";
import { isMap } from "#base/json.ts";

/** Field of a pod template that users may not set, or only to certain values. */
export interface Reserved {
  /** Valid values, which may include null; absent: the field must be left out. */
  readonly may?: readonly unknown[];
  readonly because: string;
}

/** Map in a template, with its field path for messages. */
export interface Part {
  readonly value: Readonly<Record<string, unknown>>;
  readonly field: string;
}

/** Maps in a list. Other items are skipped, because the API server refuses them. */
export function itemsOf({ value, field }: Part, list: string): readonly Part[] {
  const items = value[list];
  if (!Array.isArray(items)) return [];
  return items.flatMap((item, n) => (isMap(item) ? [{ value: item, field: `${field}.${list}[${n}]` }] : []));
}

/** Map in a field of a map; empty when there is none. */
export function mapIn({ value, field }: Part, name: string): Part {
  const map = value[name];
  return { value: isMap(map) ? map : {}, field: `${field}.${name}` };
}

export function whyNotFields({ value, field }: Part, fields: Readonly<Record<string, Reserved>>): readonly string[] {
  return Object.entries(fields)
    .filter(([name, { may }]) => Object.hasOwn(value, name) && may?.includes(value[name]) !== true)
    .map(([name, reserved]) => `${field}.${name} is ${valueText(value[name])}; it must be ${mayText(reserved)}`);
}

/** Fields to which the operator adds items. A value of another type would replace them instead of being merged. */
export function whyNotMerged({ value, field }: Part, names: readonly string[], as: "list" | "map"): readonly string[] {
  const isMerged = as === "list" ? Array.isArray : isMap;
  return names
    .filter((name) => Object.hasOwn(value, name) && !isMerged(value[name]))
    .map(
      (name) =>
        `${field}.${name} is ${valueText(value[name])}; it must be a ${as} or left out: the operator adds to it`,
    );
}

/**
 * Directives of a strategic merge patch:
 * https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md
 */
const DIRECTIVE = /^\$(?:patch|retainKeys|setElementOrder\/.*|deleteFromPrimitiveList\/.*)$/;

/** Values anywhere in a template that cannot be merged, as messages. @param path as in MERGE_KEYS */
export function whyNotMergeable(value: unknown, field: string, path = ""): readonly string[] {
  if (Array.isArray(value)) {
    const key = MERGE_KEYS[path];
    return value.flatMap((item, n) => [
      ...(key !== undefined && isMap(item) && (item[key] ?? null) === null
        ? [`${field}[${n}] has no ${key}; the items of this list are identified by it`]
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

/** Value for messages. For a list or a map only "set". */
export function valueText(value: unknown): string {
  if (value === undefined) return "not set";
  return typeof value === "object" && value !== null ? "set" : JSON.stringify(value);
}

function mayText({ may = [], because }: Reserved): string {
  const values = may.filter((value) => value !== null).map(valueText);
  return `${[...values, "left out"].join(" or ")}: ${because}`;
}
