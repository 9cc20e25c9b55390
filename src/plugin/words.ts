/** Words of a command line, with quotes and backslashes as in a shell; a sentence when a quote is not closed. */
export function wordsIn(line: string): readonly string[] | string {
  const words: string[] = [];
  let [word, quote]: [string | undefined, string] = [undefined, ""];
  for (let n = 0; n < line.length; n++) {
    const character = line.charAt(n);
    if (character === "\\" && quote !== "'") {
      n += 1;
      word = (word ?? "") + line.charAt(n);
    } else if (quote !== "") {
      if (character === quote) quote = "";
      else word = (word ?? "") + character;
    } else if (character === "'" || character === '"') {
      [word, quote] = [word ?? "", character];
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== "") return `The quote ${quote} is not closed.`;
  return word === undefined ? words : [...words, word];
}
