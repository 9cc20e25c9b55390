import { stringify } from "yaml";

/** The objects as one text, a document each. */
export function yamlOf(objects: readonly unknown[]): string {
  return objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n");
}
