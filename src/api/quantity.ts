// Why not quantityToScalar of @kubernetes/client-node?
//   It returns floating-point numbers, refuses `1.5Gi`, and accepts texts that Kubernetes refuses.

/** Exponents of the suffixes: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ */
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY: Readonly<Record<string, number>> = { Ki: 1, Mi: 2, Gi: 3, Ti: 4, Pi: 5, Ei: 6 };

/** Precision of Kubernetes quantities: billionths. */
const BILLION_DIGITS = 9;
export const BILLION = 10n ** BigInt(BILLION_DIGITS);
/** Largest exponent that is parsed, more than any useful quantity has. A larger one could exhaust the memory. */
const MAX_EXPONENT = 30;

/**
 * Longest text that is parsed, in characters: the largest amount with nine decimals has 30. Parsing a million digits
 * takes a second.
 */
const MAX_LENGTH = 64;

/**
 * Parses a Kubernetes quantity, such as `8Gi`, `500m` or `1e3`, into billionths, so that different spellings can be
 * compared. Rounds up to billionths, as Kubernetes does.
 * @returns undefined when it is invalid, or longer than {@link MAX_LENGTH}
 */
export function billionthsOf(quantity: string | number): bigint | undefined {
  const text = String(quantity);
  if (text.length > MAX_LENGTH) return undefined;
  const found = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d{1,3})|([A-Za-z]{1,2}))?$/.exec(text);
  if (found === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "", suffix = ""] = found;
  if (whole === "" && fraction === "") return undefined;
  const binary = BINARY[suffix];
  const decimal = exponent === "" ? DECIMAL[suffix] : Number(exponent.slice(1));
  if ((binary === undefined && decimal === undefined) || Math.abs(decimal ?? 0) > MAX_EXPONENT) return undefined;
  const digits = BigInt(`${whole}${fraction}`) * 1_024n ** BigInt(binary ?? 0);
  const power = (binary === undefined ? (decimal ?? 0) : 0) + BILLION_DIGITS - fraction.length;
  const amount = power >= 0 ? digits * 10n ** BigInt(power) : dividedUp(digits, 10n ** BigInt(-power));
  return sign === "-" ? -amount : amount;
}

/** Parses a quantity into whole units, such as bytes, rounded towards zero. @returns undefined when it is invalid */
export function wholeOf(quantity: string | number): bigint | undefined {
  const amount = billionthsOf(quantity);
  return amount === undefined ? undefined : amount / BILLION;
}

/** Parses a limit into billionths. Zero means no limit. @returns undefined without a limit, or when it is invalid */
export function limitOf(quantity: string | number | undefined): bigint | undefined {
  const amount = quantity === undefined ? undefined : billionthsOf(quantity);
  return amount !== undefined && amount > 0n ? amount : undefined;
}

function dividedUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
