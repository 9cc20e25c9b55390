/** Until something is given up that happens in true time, in milliseconds: a busy machine stalls for longer than the second that vitest would wait. */
export const SOON_MS = 20_000;
