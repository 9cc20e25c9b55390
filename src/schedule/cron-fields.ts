// Parses the five cron fields like robfig/cron v3. Additions of croner are refused (L, W, #, 7 for Sunday), and syntax
// that croner lacks is rewritten (5/15, ?).
//
// Why not a library's parser? No package on npm has a mode for exactly this syntax.

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names for the numbers from `min` on. */
  readonly words: readonly string[];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: readonly Field[] = [
  { name: "minute", min: 0, max: 59, words: [] },
  { name: "hour", min: 0, max: 23, words: [] },
  { name: "day of the month", min: 1, max: 31, words: [] },
  { name: "month", min: 1, max: 12, words: MONTHS },
  { name: "day of the week", min: 0, max: 6, words: DAYS },
];

/** The five fields in croner's syntax. @returns a clause when they are invalid: what is wrong, and what it may be */
export function cronPattern(text: string): { readonly pattern: string } | string {
  const given = text.split(/\s+/);
  if (given.length !== FIELDS.length)
    return `it must have five fields (minute, hour, day of the month, month, day of the week), or be @hourly, @daily, @weekly, @monthly, @yearly, or @every DURATION`;
  const fields = FIELDS.map((field, place) => fieldOf(field, given[place] ?? ""));
  const wrong = fields.indexOf(undefined);
  if (wrong === -1) return { pattern: fields.join(" ") };
  const { name, min, max, words } = FIELDS[wrong] as Field;
  const names = words.length === 0 ? "" : ` or ${words[0]} to ${words.at(-1)}`;
  return `its ${name} is ${JSON.stringify(given[wrong])}; it must be *, or numbers from ${min} to ${max}${names}, ranges of them, or a list of these with commas. Ranges start with the smaller number. Each part may have a step, such as */2`;
}

function fieldOf(field: Field, text: string): string | undefined {
  const parts = text.split(",").map((part) => partOf(field, part));
  if (parts.includes(undefined)) return undefined;
  return parts.includes("*") ? "*" : parts.join(",");
}

function partOf(field: Field, text: string): string | undefined {
  const [, range = "", stepText = "1"] = /^([^/]+)(?:\/(\d+))?$/.exec(text) ?? [];
  const step = Number(stepText);
  const isAny = range === "*" || range === "?";
  const [low, high] = isAny ? [field.min, field.max] : boundsOf(field, range, text !== range);
  if (low === undefined || high === undefined || low > high || step === 0) return undefined;
  // A step beyond the field's end selects only its first value; croner refuses such a step.
  if (low + step > high) return `${low}`;
  if (isAny) return step === 1 ? "*" : `*/${step}`;
  return `${low}-${high}/${step}`;
}

/** @param hasStep a number with a step stands for itself and all above it */
function boundsOf(field: Field, range: string, hasStep: boolean): readonly [number | undefined, number | undefined] {
  const [first = "", second, ...more] = range.split("-");
  if (more.length > 0) return [undefined, undefined];
  const low = numberOf(field, first);
  if (second !== undefined) return [low, numberOf(field, second)];
  return [low, hasStep ? field.max : low];
}

function numberOf({ min, max, words }: Field, text: string): number | undefined {
  const place = words.indexOf(text);
  const number = place === -1 ? (/^\d+$/.test(text) ? Number(text) : Number.NaN) : place + min;
  return number >= min && number <= max ? number : undefined;
}
