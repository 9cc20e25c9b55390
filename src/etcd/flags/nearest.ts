// Why not a library?
//   The distance is a dozen lines. Packages for it do not know the prefixes of etcd's names.

/** Letters of a name per tolerated typing error. Smaller: suggests unrelated names. Larger: misses suggestions. */
const LETTERS_PER_SLIP = 4;
/** Typing errors that are tolerated in a name of any length. */
const MAX_SLIPS = 3;

/**
 * The known name most similar to the written one. Undefined when none is similar. `ETCD_MAX_TXN_OPS` finds
 * `max-txn-ops`.
 */
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

/** Levenshtein distance: the number of letters to replace, insert or delete. */
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
