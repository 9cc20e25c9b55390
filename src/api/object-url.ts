import type { NamespacedMeta } from "#kube/kinds.ts";

/** What stands between the braces; anything may. */
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

/** What the text must not have: the first placeholder that is none, or a brace that belongs to none; undefined when all is well. */
export function whyNotObjectURLTemplate(template: string): string | undefined {
  const may = "it may have {{ .Namespace }}, {{ .Name }}, {{ .UID }} and {{ .CreationTimestamp }}";
  for (const [whole, inside = ""] of template.matchAll(PLACEHOLDER))
    if (fieldIn(inside) === undefined) return `has ${whole}; ${may}`;
  return /[{}]/.test(template.replaceAll(PLACEHOLDER, ""))
    ? `has a brace that belongs to no placeholder; ${may}`
    : undefined;
}

/** The URL of the object of this EtcdBackup, from a template that is well. Times are RFC 3339. */
export function renderObjectURL(template: string, metadata: NamespacedMeta): string {
  const values: Readonly<Record<Field, string>> = {
    Namespace: metadata.namespace,
    Name: metadata.name,
    UID: metadata.uid,
    CreationTimestamp: metadata.creationTimestamp ?? "",
  };
  return template.replaceAll(PLACEHOLDER, (whole, inside: string) => {
    const field = fieldIn(inside);
    return field === undefined ? whole : values[field];
  });
}

type Field = "Namespace" | "Name" | "UID" | "CreationTimestamp";

function fieldIn(inside: string): Field | undefined {
  return /^-? *[.](Namespace|Name|UID|CreationTimestamp) *-?$/.exec(inside)?.[1] as Field | undefined;
}
