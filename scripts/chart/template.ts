import { yamlOf } from "../yaml.ts";

// Makes a template of Helm from objects with marks. A mark is a string that a value of the chart replaces. It stands in a
// text, as a field, or as an entry of a list.

/** A mark in an object. @param name of the snippet that replaces it */
export function mark(name: string): string {
  return `__${name}__`;
}

/** What replaces a mark that stands alone. @param indent spaces before the field or entry */
export type Block = (indent: number) => string;

export interface Snippets {
  /** Actions of Helm for marks inside of texts. */
  readonly inline: Readonly<Record<string, string>>;
  /** Replaces the lines `FIELD: MARK` and `- MARK`; empty drops the line. */
  readonly blocks: Readonly<Record<string, Block>>;
}

/**
 * A template of the objects.
 * @throws Error when a mark has no snippet
 */
export function templateOf(objects: readonly unknown[], { inline, blocks }: Snippets): string {
  // Some texts contain braces that are no actions of Helm.
  const text = yamlOf(objects).replaceAll("{{", '{{ "{{" }}');
  const whole = text.replaceAll(/^( *)(?:- |\w+: )"?__([A-Z_]+)__"?\n/gm, (line, indent: string, name: string) =>
    blocks[name] === undefined ? line : blocks[name](indent.length),
  );
  return whole.replaceAll(/__([A-Z]+(?:_[A-Z]+)*)__/g, (_, name: string) => {
    const action = inline[name];
    if (action === undefined) throw new Error(`the mark ${name} has no snippet`);
    return action;
  });
}

/** A template that is rendered only when the condition holds. */
export function onlyIf(condition: string, template: string): string {
  return `{{- if ${condition} }}\n${template}{{- end }}\n`;
}

/** The field with a value of the chart, left out while the value is empty. */
export function field(name: string, value: string): Block {
  return (indent) => {
    const space = " ".repeat(indent);
    return `${space}{{- with ${value} }}\n${space}${name}: {{- toYaml . | nindent ${indent + 2} }}\n${space}{{- end }}\n`;
  };
}

/** Further fields of an object from a value of the chart. */
export function fields(value: string): Block {
  return (indent) => {
    const space = " ".repeat(indent);
    return `${space}{{- with ${value} }}\n${space}{{- toYaml . | nindent ${indent} }}\n${space}{{- end }}\n`;
  };
}

/** Entries of a list from a value of the chart. */
export function entries(value: string): Block {
  return (indent) => {
    const space = " ".repeat(indent);
    return `${space}{{- range ${value} }}\n${space}- {{ toYaml . | nindent ${indent + 2} | trim }}\n${space}{{- end }}\n`;
  };
}
