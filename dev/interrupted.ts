/** What a person stops work with: Ctrl-C, `kill`, and a terminal that is closed. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The exit code of what ended on Ctrl-C. */
const INTERRUPTED = 130;

/**
 * Lets `tidy` run, and then ends this process, when somebody interrupts it. Signals that arrive meanwhile change nothing: one that is
 * sent to the whole group, as `timeout` and terminals do, comes once more from npm and from launch.mjs. Nor does it that nobody reads
 * any more what is said: a terminal that is closed takes no word of tidying up.
 */
export function onInterrupt(tidy: () => Promise<unknown>, exit: (code: number) => void = process.exit): Disposable {
  let isUnderWay = false;
  const stop = (): void => {
    if (isUnderWay) return;
    isUnderWay = true;
    void tidy().finally(() => exit(INTERRUPTED));
  };
  const unheard = (): void => {};
  const outputs = [process.stdout, process.stderr];
  for (const signal of SIGNALS) process.on(signal, stop);
  for (const output of outputs) output.on("error", unheard);
  return {
    [Symbol.dispose]: () => {
      if (isUnderWay) return;
      for (const signal of SIGNALS) process.off(signal, stop);
      for (const output of outputs) output.off("error", unheard);
    },
  };
}
