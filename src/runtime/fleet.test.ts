import { expect, test } from "vitest";
import { present, unknown } from "#base/observed.ts";
import { endpointStatus, pod } from "#kit/snapshots/cluster.ts";
import { ToyController, toyTools } from "#kit/tables/toy-controller.ts";
import type { FakeClock } from "#kit/time/fake-clock.ts";
import { ControlLoop } from "#runtime/control-loop.ts";
import type { Key } from "#runtime/controller.ts";
import { wait } from "#runtime/decide.ts";
import { Silences } from "#runtime/silences.ts";

const SILENT = 50;
const WELL = 50;
const WORKERS = 100;
const MEMBER_DEADLINE_MS = 1_000;

/**
 * Clusters that get a pass every second. Each silent one has a member that takes the whole timeout and gives no answer.
 */
class Fleet extends ToyController {
  /** Times of the passes of each healthy cluster, in milliseconds. */
  readonly looks = new Map<string, number[]>();
  readonly #clock: FakeClock;
  readonly #silences: Silences;

  constructor(clock: FakeClock) {
    super();
    this.#clock = clock;
    this.#silences = new Silences(clock, "etcd");
  }

  override async observe(key: Key, _signal: AbortSignal) {
    const isSilent = key.name.startsWith("silent");
    this.next = { rule: "await-health", ...wait("a member is down", 1_000) };
    if (!isSilent) this.looks.set(key.name, [...(this.looks.get(key.name) ?? []), this.#clock.monotonicMs()]);
    await this.#silences.ask(key, pod("my-etcd-0", { ready: false }), async () => {
      if (!isSilent) return { status: present(endpointStatus("c1", "a1", "a1")), passesAs: undefined };
      await this.#clock.sleep(MEMBER_DEADLINE_MS);
      return { status: unknown("it gave no answer"), passesAs: undefined };
    });
    return present(1);
  }
}

test("fleet: fifty clusters with an unresponsive member each do not delay passes of fifty healthy clusters", async () => {
  const { clock, tools } = toyTools();
  const fleet = new Fleet(clock);
  const names = (what: string, count: number) => Array.from({ length: count }, (_, n) => `${what}-${n}`);
  const keys = [...names("silent", SILENT), ...names("well", WELL)].map((name) => ({ namespace: "foo", name }));
  const loop = new ControlLoop({ controller: fleet, watches: [], allKeys: () => keys, tools });
  const stop = new AbortController();
  const running = loop.run(stop.signal, WORKERS);
  for (let tenths = 0; tenths < 600; tenths++) await clock.advance(100);
  stop.abort();
  await clock.advance(2_000);
  await running;
  const pauses = [...fleet.looks.values()].flatMap((at) => at.slice(1).map((ms, n) => ms - (at[n] ?? 0)));
  expect(fleet.looks.size).toBe(WELL);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(1_100); // A second of rest, and the step of this clock.
});
