/** An object that holds an object, and so on, so many levels deep. @param leaf what the last of them holds */
export function nested(levels: number, leaf: string | number = 1): object {
  return JSON.parse(`${'{"a":'.repeat(levels)}${JSON.stringify(leaf)}${"}".repeat(levels)}`);
}
