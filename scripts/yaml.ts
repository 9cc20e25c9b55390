import { stringify } from "yaml";

/** YAML of the objects, with a document for each. */
export function yamlOf(objects: readonly unknown[]): string {
  return objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n");
}
