/** Flags and gates in the text of `etcd --help`. */
export interface Help {
  readonly flags: readonly string[];
  /** Deprecated flag → its replacement, if the text names one: a flag or, with a capital letter, a feature gate. */
  readonly deprecated: ReadonlyMap<string, string | undefined>;
  readonly gates: readonly string[];
}

/** @param text has each flag at the start of a line, and its description below */
export function readHelp(text: string): Help {
  const options = text.slice(text.indexOf("\nMember:"));
  const paragraphs = options
    .split(/^ +--(?=[a-z])/m)
    .slice(1)
    .map((paragraph) => paragraph.split(/\n(?=\S)/)[0] ?? ""); // without the next heading
  const named = paragraphs.map((paragraph) => [/^[a-z0-9.-]+/.exec(paragraph)?.[0] ?? "", paragraph] as const);
  return {
    flags: named.map(([name]) => name),
    deprecated: new Map(
      named.filter(([, said]) => /\bDeprecated\b/.test(said)).map(([name, said]) => [name, insteadIn(said)]),
    ),
    gates: named
      .filter(([name]) => name === "feature-gates")
      .flatMap(([, said]) => [...said.matchAll(/^ +(\w+)=true\|false/gm)].map(([, gate = ""]) => gate)),
  };
}

function insteadIn(said: string): string | undefined {
  const [, name, gate] = /\bUse '--([a-z-]+)(?:=(\w+)=true)?' instead/.exec(said) ?? [];
  return gate ?? name;
}
