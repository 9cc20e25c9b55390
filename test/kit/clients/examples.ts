import { readdirSync, readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { GROUP } from "#api/names.ts";

/** An object of ours as a person writes it. */
export interface WrittenObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Objects of our kinds in examples/, with the name of the file. */
export function exampleObjects(): readonly { readonly file: string; readonly object: WrittenObject }[] {
  return readdirSync("examples").flatMap((file) =>
    parseAllDocuments(readFileSync(`examples/${file}`, "utf8"))
      .map((document) => document.toJS() as WrittenObject)
      .filter(({ apiVersion }) => apiVersion.startsWith(`${GROUP}/`))
      .map((object) => ({ file, object })),
  );
}
