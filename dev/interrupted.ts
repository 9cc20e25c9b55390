/** Signals by which people stop a command: Ctrl-C, `kill`, and a closed terminal. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Exit code of a command that ended on Ctrl-C. */
const INTERRUPTED = 130;

/**
 * On an interrupt runs `tidy`, and then ends this process. Further signals change nothing: one that `timeout` or a
 * terminal sends to the whole group arrives again from npm and from launch.mjs. Nor do failed writes to a closed
 * terminal.
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
