/** A fenced block of a page that a reader types or applies. */
export interface Block {
  /** Line of its first command in the page, from 1. */
  readonly line: number;
  readonly kind: "sh" | "yaml";
  readonly text: string;
  /** Why the block is not run; in the page `sh untested=why-not`. */
  readonly untested?: string;
}

/** The blocks of a page that are run: those of `sh`, and those of `yaml apply`. In their order. */
export function blocksOf(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const [, fence = "", info = ""] = /^\s*(`{3,})(.*)$/.exec(lines[at] ?? "") ?? [];
    if (fence === "") continue;
    const end = lines.findIndex((line, index) => index > at && line.trim() === fence);
    if (end === -1) throw new Error(`The block that begins in line ${at + 1} has no end.`);
    const block = { line: at + 2, text: `${lines.slice(at + 1, end).join("\n")}\n` };
    const [language, ...words] = info.trim().split(/\s+/);
    const untested = words.find((word) => word.startsWith("untested="))?.replace("untested=", "");
    if (language === "sh") blocks.push({ ...block, kind: "sh", ...(untested === undefined ? {} : { untested }) });
    if (language === "yaml" && words.includes("apply")) blocks.push({ ...block, kind: "yaml" });
    at = end;
  }
  return blocks;
}

/** A line that the script prints before each block, so that a failure names its place. */
export const MARK = "--- block of line ";

/** One script of all blocks that are run: a variable that one block sets is there for the next, as for a reader. */
export function scriptOf(blocks: readonly Block[]): string {
  return blocks
    .filter(({ untested }) => untested === undefined)
    .map(({ line, kind, text }) => `echo "${MARK}${line}"\n${kind === "sh" ? forwarded(text) : applied(text)}`)
    .join("\n");
}

/** Waits after each port-forward until its port is open, as a reader does before the next command. At most 60 seconds. */
function forwarded(script: string): string {
  return script.replace(
    /^kubectl port-forward .* (\d+):\d+ &$/gm,
    "$&\nfor try in {1..300}; do (true > /dev/tcp/localhost/$1) 2> /dev/null && break; sleep 0.2; done",
  );
}

function applied(yaml: string): string {
  return `kubectl apply -f - <<'END-OF-YAML'\n${yaml}END-OF-YAML\n`;
}
