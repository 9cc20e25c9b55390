/** CPU as Kubernetes writes it: cores, a decimal fraction of them, or thousandths with an `m`. */
const CPU_PATTERN = /^(\d+(?:\.\d*)?|\.\d+)(m?)$/;

/**
 * How many operating system threads may run Go code, from a CPU limit: whole cores, rounded down, 1 at least.
 * @returns undefined without a limit, or when it is written in a form that is not worth knowing here (such as `1e3`)
 */
export function goMaxProcs(cpuLimit: string | number | undefined): number | undefined {
  const match = CPU_PATTERN.exec(String(cpuLimit ?? ""));
  if (match === null) return undefined;
  const cores = Number(match[1]) / (match[2] === "m" ? 1_000 : 1);
  return cores > 0 ? Math.max(1, Math.floor(cores)) : undefined;
}
