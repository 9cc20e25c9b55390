import { GATES, type Kind, type Minor } from "#etcd/flags/list.ts";
import { minorsBetween } from "#etcd/flags/span.ts";

// Validation of flag values. Stricter than etcd's parser where that accepts surprising values: `010` as 8, `t` as true,
// and negative durations.
// Why not a library? Each kind of value has the syntax of Go's flag parser, which no package on npm has.

const MAX_INT = 2n ** 63n - 1n;
const MAX_UINT = 2n ** 64n - 1n;
const MAX_UINT32 = 2n ** 32n - 1n;

/** Nanoseconds of each unit. Source: https://pkg.go.dev/time#ParseDuration */
const UNITS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  "\u00b5s": 1e3,
  "\u03bcs": 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};
const DURATION = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+$/;
/** About 292 years, slightly below the parser's limit of 2^63 ns: the sum here is a rounded floating-point number. */
const MAX_DURATION_NS = 2 ** 63 * (1 - 2 ** -40);

/** End of a sentence that states which values are valid. Undefined when the value is valid. */
export function whyNotValue(takes: Kind, value: string, minor: Minor): string | undefined {
  switch (takes) {
    case "bool":
      return value === "true" || value === "false" ? undefined : "must be true or false";
    case "duration":
      return isDuration(value) ? undefined : "must be a duration such as 500ms or 1m30s";
    case "int":
      return whyNoInteger(value, -MAX_INT, MAX_INT);
    case "uint":
      return whyNoInteger(value, 0n, MAX_UINT);
    case "uint32":
      return whyNoInteger(value, 0n, MAX_UINT32);
    case "gates":
      return whyNoGates(value, minor);
    case "urls":
      return isUrls(value)
        ? undefined
        : "must be * or a list of URLs, each with a port, such as https://example.com:443";
    case "text":
    case "other":
    case "ignored":
      return undefined;
  }
}

function whyNoInteger(value: string, min: bigint, max: bigint): string | undefined {
  const isInteger = /^(?:0|-?[1-9]\d{0,19})$/.test(value);
  if (isInteger && BigInt(value) >= min && BigInt(value) <= max) return undefined;
  return min < 0n ? "must be a whole number" : `must be a whole number from ${min} to ${max}`;
}

function isDuration(value: string): boolean {
  if (value === "0") return true;
  if (!DURATION.test(value)) return false;
  const parts = [...value.matchAll(/([\d.]+)([^\d.]+)/g)];
  const ns = parts.reduce((sum, [, number, unit = ""]) => sum + Number(number) * (UNITS[unit] ?? Number.NaN), 0);
  return ns <= MAX_DURATION_NS;
}

/** Whether the value is a list of origins. `cors` is the only flag of this kind that users can set. */
function isUrls(value: string): boolean {
  return (
    value === "*" || value.split(",").every((url) => /^https?:\/\/(?:[\w.-]+|\[[\da-fA-F:]+\]):\d{1,5}$/.test(url))
  );
}

function whyNoGates(value: string, minor: Minor): string | undefined {
  const gates = GATES.filter(([, first, last]) => minorsBetween(first, last).includes(minor)).map(([gate]) => gate);
  const isGate = (text: string) => {
    const [, gate = ""] = /^(\w+)=(?:true|false)$/.exec(text) ?? [];
    return gates.includes(gate);
  };
  if (value === "" || value.split(",").every(isGate)) return undefined;
  return `must be a list such as InitialCorruptCheck=true,CompactHashCheck=false, with gates that etcd ${minor} has: ${gates.join(", ")}`;
}
