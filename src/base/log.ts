import { type DestinationStream, pino } from "pino";

/** Fields that a log line may carry: a closed list, so that lines can be searched and no secret slips in by spread. */
interface LogFields {
  controller?: string;
  namespace?: string;
  name?: string;
  /** The rule or guard that decided; the same word is the file name, the metric label and the event's reason. */
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

/** So much is kept while nobody reads standard output, as where the node's disk is full, in characters: what comes then is lost, and not the process. */
const MAX_UNREAD = 4_000_000;

/**
 * JSON lines on standard output, written while the process goes on: thousands of lines, each waited for, were a twentieth of what a hundred new
 * clusters cost. What a process has yet to say is written when it ends, unless it is killed. @param destination where else, for tests
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
  if (destination === undefined) tellLost(written as LossyDestination, log);
  return log;
}

type LossyDestination = ReturnType<typeof pino.destination>;

/** Says how many lines were lost, as soon as somebody reads again. */
function tellLost(destination: LossyDestination, log: Log): void {
  let lost = 0;
  destination.on("drop", () => {
    lost += 1;
  });
  destination.on("drain", () => {
    if (lost === 0) return;
    const count = lost;
    lost = 0;
    log.warn({ count }, "lines of this log are lost: nobody had read it, and no more were kept");
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

/** A log that drops everything, for tests. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silentLog };
