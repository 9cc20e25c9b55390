import type { NamespacedMeta } from "#kube/kinds.ts";

/** Anything between double braces, valid or not. */
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

/** Why the template is invalid: the first unknown placeholder, or an unmatched brace; undefined when it is valid. */
export function whyNotObjectURLTemplate(template: string): string | undefined {
  const may = "it may have {{ .Namespace }}, {{ .Name }}, {{ .UID }} and {{ .CreationTimestamp }}";
  for (const [whole, inside = ""] of template.matchAll(PLACEHOLDER))
    if (fieldIn(inside) === undefined) return `has ${whole}; ${may}`;
  return /[{}]/.test(template.replaceAll(PLACEHOLDER, ""))
    ? `has a brace that belongs to no placeholder; ${may}`
    : undefined;
}

/** Renders the object's URL for this EtcdBackup from a valid template. Times are RFC 3339. */
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
