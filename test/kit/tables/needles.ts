// The forms in which a secret could appear in output.

/** Base64 of a text inside a longer text starts at one of three offsets. */
const SHIFTS = [0, 1, 2];

/**
 * Texts that reveal a secret in output: each line as it is, escaped in JSON, and in base64. Lines that all PEM keys
 * share (the first two and the last) are left out.
 */
export function needlesOf(secret: string): readonly string[] {
  const lines = secret.trim().split(/\r?\n/);
  const isPem = lines[0]?.startsWith("-----BEGIN ") === true;
  const own = isPem ? lines.slice(2, -1) : lines;
  const parts = own.filter((line) => line.length > 7);
  return [...new Set(parts.flatMap((line) => [line, JSON.stringify(line).slice(1, -1), ...inBase64(line)]))];
}

/** For each offset modulo three bytes, the base64 that does not depend on the surrounding text. */
function inBase64(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return SHIFTS.map((shift) => bytes.subarray(shift, shift + 3 * Math.floor((bytes.length - shift) / 3)).toString("base64")); // biome-ignore format: one line
}

/** Indexes of the secrets that the text contains: the secrets themselves must not be printed. */
export function foundIn(told: string, secrets: readonly string[]): readonly number[] {
  return secrets.flatMap((secret, n) => (needlesOf(secret).some((needle) => told.includes(needle)) ? [n] : []));
}
