// What may a text from the API server contain?
//   Anything: names of foreign members, messages of pods and values of an older or newer operator. A control character
//   could move the cursor or hide a line, and an overlong text could push the rest off the screen.

/** Control, format and private characters, line breaks and lone surrogates: none has a place on one line. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Me}\s]+/gu;
/** Characters that a terminal may obey; line breaks are not among them. */
export const OBEYED = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Characters of a text that are read at all. A larger text costs time, and no screen shows more. */
const MOST_READ = 4_096;
/** Characters that a terminal may show two columns wide: East Asian scripts and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe10-\ufe6f\uff00-\uff60\uffe0-\uffe6]/;
const FIRST_WIDE_PLANE = 0x1f000;

/** One line of plain text from any value. @param most columns after which it is cut @returns "" for no text */
export function clean(value: unknown, most = 300): string {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return "";
  return cut(String(value).slice(0, MOST_READ).replace(UNSAFE, " ").trim(), most);
}

/** Columns that the text takes at most on a terminal. */
export function widthOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += columnsOf(character);
  return columns;
}

/** The text, or its beginning with an ellipsis, in at most so many columns. */
export function cut(text: string, most: number): string {
  if (widthOf(text) <= most) return text;
  let [kept, columns] = ["", 1];
  for (const character of text) {
    columns += columnsOf(character);
    if (columns > most) break;
    kept += character;
  }
  return most < 1 ? "" : `${kept.trimEnd()}…`;
}

/** The text in lines of at most so many columns, broken at spaces. */
export function wrapped(text: string, most: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(cut(word, most));
  }
  return lines;
}

/** JSON with every character escaped that a terminal could obey. */
export function safeJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replace(OBEYED, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

function columnsOf(character: string): number {
  return WIDE.test(character) || (character.codePointAt(0) ?? 0) >= FIRST_WIDE_PLANE ? 2 : 1;
}
