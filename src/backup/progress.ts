import { request } from "node:http";
import { type Progress, progressIn } from "#agent/report.ts";
import { PROGRESS_PATH, PROGRESS_PORT } from "#agent/task.ts";
import { AGENT_CONTAINER } from "#api/names.ts";
import type { Clock } from "#base/clock.ts";
import type { Pod } from "#kube/kinds.ts";
import { dialAddress } from "#kube/pod.ts";

/** Deadline of an answer, in milliseconds: progress is only shown, and nothing waits for it. */
const DEADLINE_MS = 1_000;
/** Interval in which an agent is not asked again, in milliseconds. */
const FRESH_MS = 5_000;
/** Longest answer, in characters. */
const MAX_LENGTH = 4_096;

/** Requests the progress from an address. @throws any error of the connection */
export type Ask = (address: string, signal: AbortSignal) => Promise<string>;

interface Answer {
  readonly atMs: number;
  readonly progress: Progress | undefined;
}

/** Asks agents for their progress at intervals. Answers are cached, and forgotten when the pod is gone. */
export class ProgressReader {
  readonly #clock: Clock;
  readonly #ask: Ask;
  readonly #last = new Map<string, Answer>();

  constructor(clock: Clock, ask: Ask = overHTTP) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Progress of this pod's agent; `undefined` without a recent answer. Never throws. */
  async of(pod: Pod, signal: AbortSignal): Promise<Progress | undefined> {
    const { uid } = pod.metadata;
    const nowMs = this.#clock.monotonicMs();
    const last = this.#last.get(uid);
    if (last !== undefined && nowMs - last.atMs < FRESH_MS) return last.progress;
    for (const [key, { atMs }] of this.#last) if (nowMs - atMs >= 10 * FRESH_MS) this.#last.delete(key);
    const address = dialAddress(pod, AGENT_CONTAINER, PROGRESS_PORT);
    if (address === undefined) return undefined;
    const within = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]);
    // A missing answer, for example because of a network policy, must not affect the backup.
    const text = await this.#ask(address, within).catch(() => "");
    const progress = progressIn(text);
    this.#last.set(uid, { atMs: nowMs, progress });
    return progress;
  }
}

function overHTTP(address: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(`http://${address}${PROGRESS_PATH}`, { agent: false, signal }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > MAX_LENGTH) answer.destroy(new Error("the answer is too long"));
      });
      answer.once("error", reject);
      answer.once("end", () => resolve(text));
    });
    call.once("error", reject);
    call.end();
  });
}
