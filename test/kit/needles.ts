// In which forms a secret could stand in what is told.

/** Base64 of a text that stands within another one begins at any of three places. */
const SHIFTS = [0, 1, 2];

/**
 * By what a secret is found in a text, whatever became of it on its way there: as it is, line by line (JSON has another sign between lines), and in
 * base64. The first and the last line of PEM, and of a key the line with which all of them begin, are nobody's.
 */
export function needlesOf(secret: string): readonly string[] {
  const lines = secret.trim().split(/\r?\n/);
  const isPem = lines[0]?.startsWith("-----BEGIN ") === true;
  const own = isPem ? lines.slice(2, -1) : lines;
  const parts = own.filter((line) => line.length > 7);
  return [...new Set(parts.flatMap((line) => [line, JSON.stringify(line).slice(1, -1), ...inBase64(line)]))];
}

/** Of each way in which it could be cut into groups of three bytes, the part that its neighbours do not change. */
function inBase64(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return SHIFTS.map((shift) => bytes.subarray(shift, shift + 3 * Math.floor((bytes.length - shift) / 3)).toString("base64")); // biome-ignore format: one line
}

/** Which of the secrets stand in it, by number: their text is for nobody's eyes. */
export function foundIn(told: string, secrets: readonly string[]): readonly number[] {
  return secrets.flatMap((secret, n) => (needlesOf(secret).some((needle) => told.includes(needle)) ? [n] : []));
}
