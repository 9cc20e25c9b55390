const POWERS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/**
 * How many bytes a quantity of memory is, as exactly as a number can say.
 * @returns undefined when it is no quantity
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
export function bytesOf(quantity: string | number): number | undefined {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,3})|([a-zA-Z]{0,2}))$/.exec(String(quantity));
  const power = match?.[2] === undefined ? POWERS[match?.[3] ?? ""] : 10 ** Number(match[2]);
  return match === null || power === undefined ? undefined : Number(match[1]) * power;
}
