/** So many letters may be wrong, missing or too many in a word of four times as many; more are another word. */
const LETTERS_PER_SLIP = 4;
const MAX_SLIPS = 3;

/** The name that was probably meant; undefined when none is like it. `ETCD_MAX_TXN_OPS` means `max-txn-ops`. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const meant = written
    .toLowerCase()
    .replace(/^etcd_/, "")
    .replaceAll("_", "-");
  const experimental = "experimental-";
  const other = meant.startsWith(experimental) ? meant.slice(experimental.length) : `${experimental}${meant}`;
  const exact = [meant, other].find((name) => names.includes(name));
  if (exact !== undefined) return exact;
  const mostSlips = Math.min(MAX_SLIPS, Math.floor(meant.length / LETTERS_PER_SLIP));
  const [best] = names
    .filter((name) => Math.abs(name.length - meant.length) <= mostSlips)
    .map((name) => ({ name, slips: slipsBetween(meant, name) }))
    .filter(({ slips }) => slips <= mostSlips)
    .sort((a, b) => a.slips - b.slips);
  return best?.name;
}

/** How many letters have to be changed, put in or left out: the Levenshtein distance. */
function slipsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, at(row, j) + 1, at(next, j - 1) + 1));
    }
    row = next;
  }
  return at(row, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
