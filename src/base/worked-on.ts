import { AsyncLocalStorage } from "node:async_hooks";

/** The object that some work is for. */
export interface WorkedOn {
  readonly controller: string;
  readonly namespace: string;
  readonly name: string;
}

const current = new AsyncLocalStorage<WorkedOn>();

/** Runs work for an object, so that an unhandled exception can be reported with it. */
export function workFor<T>(object: WorkedOn, work: () => T): T {
  return current.run(object, work);
}

/**
 * The object of the current work, also in its callbacks and timers. A connection belongs to the work that opened it.
 */
export function workedOn(): WorkedOn | undefined {
  return current.getStore();
}
