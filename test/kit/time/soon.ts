/**
 * Time limit for events in real time, in milliseconds: a busy machine may stall for longer than the second that vitest
 * waits by default.
 */
export const SOON_MS = 20_000;
