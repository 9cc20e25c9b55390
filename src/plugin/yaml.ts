import { OBEYED } from "./text.ts";

/** YAML with every character escaped that a terminal could obey. */
export async function safeYaml(value: unknown): Promise<string> {
  const { Document, visit } = await import("yaml");
  const document = new Document(JSON.parse(JSON.stringify(value)), { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      // Only a text in double quotes can have escapes.
      if (typeof node.value === "string" && node.value.search(OBEYED) !== -1) node.type = "QUOTE_DOUBLE";
    },
  });
  return document
    .toString({ lineWidth: 0 })
    .replace(OBEYED, (character) => `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`);
}
