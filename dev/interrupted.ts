const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** The exit code of what ended on Ctrl-C. */
const INTERRUPTED = 130;

/**
 * Lets `tidy` run, and then ends this process, when somebody interrupts it. Signals that arrive meanwhile change nothing: one that is
 * sent to the whole group, as `timeout` and terminals do, comes once more from npm and from launch.mjs.
 */
export function onInterrupt(tidy: () => Promise<unknown>, exit: (code: number) => void = process.exit): Disposable {
  let isUnderWay = false;
  const stop = (): void => {
    if (isUnderWay) return;
    isUnderWay = true;
    void tidy().finally(() => exit(INTERRUPTED));
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  return {
    [Symbol.dispose]: () => {
      if (isUnderWay) return;
      for (const signal of SIGNALS) process.off(signal, stop);
    },
  };
}
