import { type DestinationStream, pino } from "pino";
import { asOperatorError } from "./error.ts";

/** Fields of a log line: a closed list, so that lines can be searched and no secret is logged by a spread. */
interface LogFields {
  controller?: string;
  namespace?: string;
  name?: string;
  /** The rule or guard that decided; also the file name, the metric label and the event's reason. */
  rule?: string;
  because?: string;
  step?: string;
  outcome?: string;
  code?: string;
  error?: string;
  resource?: string;
  member?: string;
  durationMs?: number;
  count?: number;
  version?: string;
  address?: string;
  /** The key of an object in an object store. */
  object?: string;
  phase?: string;
  bytes?: number;
  storedBytes?: number;
}

export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  with(fields: LogFields): Log;
}

export type LogLevel = "debug" | "info" | "warn" | "error";
export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/**
 * Most characters buffered while standard output is blocked, as when the node's disk is full. Further lines are
 * dropped, so that the process keeps working.
 */
const MAX_UNREAD = 4_000_000;

/**
 * JSON lines on standard output, written asynchronously. Waiting for each of thousands of lines took a twentieth of the
 * time that a hundred new clusters need. Buffered lines are written at exit, unless the process is killed.
 * @param destination for tests
 */
export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const written = destination ?? pino.destination({ sync: false, maxLength: MAX_UNREAD });
  const log = wrap(pino(options, written));
  if (destination === undefined) reportDropped(written as LossyDestination, log);
  return log;
}

type LossyDestination = ReturnType<typeof pino.destination>;

/** Logs how many lines were dropped, as soon as standard output accepts data again. */
function reportDropped(destination: LossyDestination, log: Log): void {
  let lost = 0;
  destination.on("drop", () => {
    lost += 1;
  });
  destination.on("drain", () => {
    if (lost === 0) return;
    const count = lost;
    lost = 0;
    log.warn({ count }, "lines of this log were dropped: standard output was blocked and the buffer was full");
  });
}

function wrap(logger: pino.Logger): Log {
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    with: (fields) => wrap(logger.child(fields)),
  };
}

/** Logs a failure that is tried again: a cancelled call not at all, a defect of the operator as an error. */
export function logFailure(log: Log, thrown: unknown, sentence: string): void {
  const { code, message } = asOperatorError(thrown);
  if (code !== "Cancelled") log[code === "Bug" ? "error" : "warn"]({ code, error: message }, sentence);
}

/** A log that drops everything, for tests. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silentLog };
