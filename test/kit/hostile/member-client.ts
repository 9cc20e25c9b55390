import { setTimeout } from "node:timers/promises";
import { LoopWatch } from "./loop-watch.ts";
import { type CallName, closeAll, failureOf } from "./member-calls.ts";

// A process that calls hostile members, one after another, and reports each on a line. Argument: JSON of MeetOrder.

/** The members to call. */
export interface MeetOrder {
  readonly deadlineMs: number;
  readonly members: readonly MemberOrder[];
}

export interface MemberOrder {
  readonly name: string;
  readonly port: number;
  readonly call: CallName;
  /** How often the call is made. */
  readonly times: number;
}

/** The result for one member. */
export interface Met {
  readonly name: string;
  /** Codes and messages of the errors, each once; "" for a call that went well. */
  readonly failures: readonly string[];
  /** The longest call, in milliseconds. */
  readonly tookMs: number;
  /** The longest time for which the event loop was blocked, in milliseconds of processor time. */
  readonly blockedMs: number;
  readonly rssMb: number;
}

/** Number of parallel calls, so that the garbage collector finds several connections. */
const AT_ONCE = 10;
/** Calls between two garbage collections: Node aborts the process when it then finds a corrupted connection. */
const CALLS_PER_COLLECTION = 20;
/** Reports the start of each call: the last started one has ended the process. */
const report = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

const { deadlineMs, members } = JSON.parse(process.argv[2] ?? "") as MeetOrder;
const watch = new LoopWatch();
for (const { name, port, call, times } of members) {
  report({ begins: name });
  watch.take();
  const failures = new Set<string>();
  let tookMs = 0;
  const callOnce = async (): Promise<void> => {
    const startedAtMs = performance.now();
    failures.add((await failureOf(call, `127.0.0.1:${port}`, deadlineMs)) ?? "");
    tookMs = Math.max(tookMs, Math.round(performance.now() - startedAtMs));
  };
  for (let n = 1; n <= times; n += AT_ONCE) {
    if (times > 1) report({ begins: `${name}, call ${n}` });
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, times - n + 1) }, callOnce));
    if (n % CALLS_PER_COLLECTION === 1) globalThis.gc?.();
  }
  await setTimeout(30); // late data after the end of the call must do no harm, either
  report({ name, failures: [...failures], tookMs, ...watch.take() } satisfies Met);
}
watch.stop();
closeAll();
