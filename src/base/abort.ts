/**
 * Settles like the promise, or rejects as soon as the signal aborts. Does not stop the work.
 * @param reason of the rejection; default: that of the signal
 */
export async function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  reason = (): unknown => signal.reason,
): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(reason());
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
