/**
 * An object that is nested to this depth.
 * @param leaf the content of the innermost object
 */
export function nested(levels: number, leaf: string | number = 1): object {
  return JSON.parse(`${'{"a":'.repeat(levels)}${JSON.stringify(leaf)}${"}".repeat(levels)}`);
}
