// Parser for Prometheus' text format, for a few metrics of a large answer.
// Why not src/etcd/metrics-lines.ts?
//   It reads single lines with a fixed label, as they arrive. Histograms have many lines and any labels.
// What may the text contain?
//   Anything: a tenant chooses the image of a member. A line that is not valid is left out, and never an error.

/** Characters of a line that is read. etcd's have less than 300; a longer one only costs time. */
const MOST_LINE = 4_096;
/** Samples that are kept: seven members have 170. More only cost time. */
const MOST_SAMPLES = 2_000;

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?[ \t]+(\S+)(?:[ \t]+-?\d+)?[ \t\r]*$/;
/** One label and the comma after it. */
const LABEL = /[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(,|$)/y;
const ESCAPED: Readonly<Record<string, string>> = { "\\n": "\n", "\\\\": "\\", '\\"': '"' };

export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  /** A finite number of at least 0. */
  readonly value: number;
}

/**
 * Samples of these metrics, in the order of the text. A sample that is NaN, infinite or negative is left out: no
 * counter and no bucket is one.
 */
export function samplesIn(text: string, names: ReadonlySet<string>): readonly Sample[] {
  const samples: Sample[] = [];
  for (let from = 0; from < text.length && samples.length < MOST_SAMPLES; ) {
    const newline = text.indexOf("\n", from);
    const end = newline === -1 ? text.length : newline;
    const sample = end - from > MOST_LINE ? undefined : sampleIn(text.slice(from, end), names);
    if (sample !== undefined) samples.push(sample);
    from = end + 1;
  }
  return samples;
}

function sampleIn(line: string, names: ReadonlySet<string>): Sample | undefined {
  const [, name, inBraces = "", number = ""] = LINE.exec(line) ?? [];
  if (name === undefined || !names.has(name)) return undefined;
  const labels = labelsIn(inBraces);
  const value = /^[+\d.]/.test(number) ? Number(number) : Number.NaN;
  return labels === undefined || !Number.isFinite(value) ? undefined : { name, labels, value };
}

/** Labels between the braces; undefined when they are not valid. */
function labelsIn(text: string): ReadonlyMap<string, string> | undefined {
  const labels = new Map<string, string>();
  LABEL.lastIndex = 0;
  for (let at = 0; at < text.length; at = LABEL.lastIndex) {
    const [, name, value] = LABEL.exec(text) ?? [];
    if (name === undefined || value === undefined) return undefined;
    labels.set(
      name,
      value.replace(/\\./g, (pair) => ESCAPED[pair] ?? pair),
    );
  }
  return labels;
}
