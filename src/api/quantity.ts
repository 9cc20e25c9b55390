/** What a suffix multiplies by, as a power: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ */
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY: Readonly<Record<string, number>> = { Ki: 1, Mi: 2, Gi: 3, Ti: 4, Pi: 5, Ei: 6 };

/** Kubernetes itself keeps no finer amounts than billionths. */
const BILLION_DIGITS = 9;
export const BILLION = 10n ** BigInt(BILLION_DIGITS);
/** No exponent that means something is larger; a larger one would make a number that fills the memory. */
const MAX_EXPONENT = 30;

/**
 * A quantity as Kubernetes writes it, such as `8Gi`, `500m` or `1e3`, in billionths, so that amounts can be compared however they are written.
 * What is finer is rounded up, as Kubernetes does.
 * @returns undefined when it is no quantity
 */
export function billionthsOf(quantity: string | number): bigint | undefined {
  const found = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d{1,3})|([A-Za-z]{1,2}))?$/.exec(String(quantity));
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

/** In whole ones, such as bytes; what is less than one is dropped. @returns undefined when it is no quantity */
export function wholeOf(quantity: string | number): bigint | undefined {
  const amount = billionthsOf(quantity);
  return amount === undefined ? undefined : amount / BILLION;
}

/** In billionths; a limit of nothing is none. @returns undefined as well when it is no quantity */
export function limitOf(quantity: string | number | undefined): bigint | undefined {
  const amount = quantity === undefined ? undefined : billionthsOf(quantity);
  return amount !== undefined && amount > 0n ? amount : undefined;
}

function dividedUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
