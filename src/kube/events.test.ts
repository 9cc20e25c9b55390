import { describe, expect, test } from "vitest";
import { type ErrorCode, OperatorError } from "#base/error.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { CallOptions } from "./client.ts";
import { cutBytes, EventRecorder, type Note, type Regarding } from "./events.ts";
import type { Draft, Event, KubeObject } from "./kinds.ts";

const DB: Regarding = {
  apiVersion: "etcd.improbable.io/v1",
  kind: "EtcdCluster",
  namespace: "prod",
  name: "db",
  uid: "u1",
};
const REMOVED: Note = { type: "Normal", reason: "ReplaceDead", action: "RemoveMember", note: "db-1 is gone" };
const never = new AbortController().signal;

/** A server that stores events, and answers the next calls with the given errors. */
class EventServer {
  readonly events = new Map<string, Draft<Event> & { series?: { count: number; lastObservedTime: string } }>();
  calls = 0;
  failures: ErrorCode[] = [];
  hangs = false;
  /** Error for every creation in a namespace that is terminating or gone. */
  readonly refusals = new Map<string, OperatorError>();
  /** Namespaces with an admission webhook that does not answer. */
  hanging = new Set<string>();
  /** Calls in flight of each namespace. */
  readonly underWay = new Map<string, number>();

  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  create = <T extends KubeObject>(_resource: unknown, draft: Draft<T>, options: CallOptions): Promise<T> =>
    this.#call(draft.metadata.namespace, options, () => {
      const refused = this.refusals.get(draft.metadata.namespace ?? "");
      if (refused !== undefined) throw refused;
      this.events.set(draft.metadata.name, draft as unknown as Draft<Event>);
      return draft as unknown as T;
    });

  patch = <T extends KubeObject>(
    _resource: unknown,
    ref: { name: string; namespace?: string },
    patch: object,
    options: CallOptions,
  ): Promise<T> =>
    this.#call(ref.namespace, options, () => {
      const event = this.events.get(ref.name);
      if (event === undefined) throw new OperatorError("KubeNotFound", "gone");
      Object.assign(event, patch);
      return event as unknown as T;
    });

  get stored(): Draft<Event>[] {
    return [...this.events.values()];
  }

  async #call<T>(namespace = "", { signal, deadlineMs = 10_000 }: CallOptions, work: () => T): Promise<T> {
    this.calls += 1;
    const code = this.failures.shift();
    if (code !== undefined) throw new OperatorError(code, code);
    if (this.hangs) await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    if (!this.hanging.has(namespace)) return work();
    const count = this.underWay.get(namespace) ?? 0;
    this.underWay.set(namespace, count + 1);
    await this.#clock.sleep(deadlineMs, signal).finally(() => this.underWay.set(namespace, count));
    throw new OperatorError("KubeUnavailable", "no answer");
  }
}

function setUp() {
  const clock = new FakeClock();
  const server = new EventServer(clock);
  const recorder = new EventRecorder({ client: server, instance: "operator-0", clock });
  return { clock, server, recorder };
}

const TERMINATING = {
  kind: "Status",
  details: { causes: [{ reason: "NamespaceTerminating", field: "metadata.namespace" }] },
};

describe("event recorder", () => {
  test.each([
    ["is being deleted", new OperatorError("KubeInvalid", "it is being terminated", { cause: TERMINATING })],
    ["does not exist", new OperatorError("KubeNotFound", "no such namespace")],
  ])("retries once when a namespace %s, and continues with other namespaces", async (_when, refused) => {
    const { clock, server, recorder } = setUp();
    const other = { ...DB, namespace: "other", uid: "u2" };
    const notes = Array.from({ length: 8 }, (_, n) => ({ ...REMOVED, note: `db-${n} is gone` }));
    for (const about of [DB, other]) for (const note of notes) recorder.record(about, note);
    await clock.advance(0);
    for (const note of notes) {
      for (const about of [DB, other]) recorder.record(about, note);
      await clock.advance(1_000);
    }
    server.refusals.set("prod", refused);
    for (const [name, { metadata }] of server.events) if (metadata.namespace === "prod") server.events.delete(name);
    const before = server.calls;
    await clock.advance(120_000);
    // In `prod` one update, which finds no event, and one creation; in the other namespace all updates.
    expect(server.calls - before).toBe(2 + notes.length);
    expect(recorder.stats).toMatchObject({ created: 16, updated: 8 });
    server.refusals.clear();
    recorder.record(DB, notes[0] ?? REMOVED);
    await clock.advance(0);
    expect(server.stored.filter(({ metadata }) => metadata.namespace === "prod")).toHaveLength(1);
  });

  test("counts an event for a missing namespace as dropped once, even when it repeats during its write", async () => {
    const { server, recorder } = setUp();
    server.refusals.set("prod", new OperatorError("KubeNotFound", "no such namespace"));
    recorder.record(DB, REMOVED);
    recorder.record({ ...DB, namespace: "other", uid: "u2" }, REMOVED);
    await recorder.flush(never);
    expect(recorder.stats).toEqual({ created: 1, updated: 0, dropped: 1 });
  });

  test("writes the fields that the events API requires", async () => {
    const { clock, server, recorder } = setUp();
    recorder.record(DB, REMOVED);
    await clock.advance(0);
    expect(server.stored).toEqual([
      {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { namespace: "prod", name: expect.stringMatching(/^db\.[0-9a-f]{12,}$/) },
        eventTime: "2026-01-01T00:00:00.000000Z",
        regarding: DB,
        type: "Normal",
        reason: "ReplaceDead",
        action: "RemoveMember",
        note: "db-1 is gone",
        reportingController: "etcd-cluster-operator",
        reportingInstance: "operator-0",
      },
    ]);
  });

  test("counts repetitions in one event, and writes the last count", async () => {
    const { clock, server, recorder } = setUp();
    for (let n = 0; n < 100; n++) {
      recorder.record(DB, REMOVED);
      await clock.advance(1_000);
    }
    await clock.advance(120_000);
    expect(server.stored).toHaveLength(1);
    expect(server.stored[0]?.series).toEqual({ count: 100, lastObservedTime: "2026-01-01T00:01:39.000000Z" });
    expect(server.calls).toBe(1 + 3);
  });

  test("writes a repeated event after 30 s, then with growing pauses of at most ten minutes", async () => {
    const { clock, server, recorder } = setUp();
    const writtenAtS: number[] = [];
    for (let s = 0; s < 7_200; s += 5) {
      const before = server.calls;
      recorder.record(DB, REMOVED);
      await clock.advance(5_000);
      if (server.calls > before) writtenAtS.push(s);
    }
    expect(server.stored).toHaveLength(1);
    const pauses = writtenAtS.slice(1).map((s, n) => s - (writtenAtS[n] as number));
    expect(pauses.slice(0, 6)).toEqual([30, 60, 120, 240, 480, 600]);
    expect(Math.max(...pauses)).toBe(600);
  });

  test("writes a repeated event soon again after a time without it", async () => {
    const { clock, server, recorder } = setUp();
    for (let n = 0; n < 60; n++) {
      recorder.record(DB, REMOVED);
      await clock.advance(60_000);
    }
    await clock.advance(20 * 60_000);
    recorder.record(DB, REMOVED);
    recorder.record(DB, REMOVED);
    await clock.advance(31_000);
    expect(server.stored.map((event) => event.series?.count)).toEqual([60, 2]);
  });

  test("begins a new event when the old one has not repeated for ten minutes", async () => {
    const { clock, server, recorder } = setUp();
    recorder.record(DB, REMOVED);
    await clock.advance(10 * 60_000);
    recorder.record(DB, REMOVED);
    await clock.advance(60_000);
    expect(server.stored).toHaveLength(2);
  });

  test("writes different events for other notes, reasons and objects", async () => {
    const { clock, server, recorder } = setUp();
    recorder.record(DB, REMOVED);
    recorder.record(DB, { ...REMOVED, note: "db-2 is gone" });
    recorder.record(DB, { ...REMOVED, reason: "Other" });
    recorder.record({ ...DB, uid: "u2" }, REMOVED);
    await clock.advance(0);
    expect(server.stored).toHaveLength(4);
  });

  test("writes 25 events of one object and then one each five minutes, without effect on other objects", async () => {
    const { clock, server, recorder } = setUp();
    for (let n = 0; n < 100; n++) recorder.record(DB, { ...REMOVED, note: `note ${n}` });
    recorder.record({ ...DB, uid: "quiet" }, REMOVED);
    await clock.advance(0);
    expect(server.stored).toHaveLength(26);
    expect(recorder.stats).toEqual({ created: 26, updated: 0, dropped: 75 });
    await clock.advance(5 * 60_000);
    for (let n = 0; n < 5; n++) recorder.record(DB, { ...REMOVED, note: `later ${n}` });
    await clock.advance(0);
    expect(server.stored).toHaveLength(27);
  });

  test("retries events that were not stored, and counts those that the server refuses", async () => {
    const { clock, server, recorder } = setUp();
    server.failures = ["KubeUnavailable", "KubeAlreadyExists", "KubeThrottled"];
    recorder.record(DB, REMOVED);
    recorder.record(DB, { ...REMOVED, note: "throttled" });
    await clock.advance(20_000);
    expect(recorder.stats).toEqual({ created: 2, updated: 0, dropped: 0 });
    server.failures = ["KubeForbidden"];
    recorder.record(DB, { ...REMOVED, note: "refused" });
    await clock.advance(20_000);
    expect(recorder.stats).toEqual({ created: 2, updated: 0, dropped: 1 });
    server.failures = ["KubeUnavailable", "KubeUnavailable"];
    recorder.record(DB, { ...REMOVED, note: "never arrives" });
    await clock.advance(20_000);
    expect(recorder.stats).toEqual({ created: 2, updated: 0, dropped: 2 });
  });

  test("creates an event again that has expired on the server", async () => {
    const { clock, server, recorder } = setUp();
    recorder.record(DB, REMOVED);
    await clock.advance(60_000);
    server.events.clear();
    recorder.record(DB, REMOVED);
    await clock.advance(60_000);
    expect(server.stored[0]?.series).toMatchObject({ count: 2 });
  });

  test("uses one writer for a namespace with a hanging webhook, and continues with other namespaces", async () => {
    const { clock, server, recorder } = setUp();
    server.hanging.add("bad");
    for (let n = 0; n < 50; n++) recorder.record({ ...DB, namespace: "bad", uid: `bad-${n}` }, REMOVED);
    recorder.record(DB, REMOVED);
    await clock.advance(0);
    expect(server.stored).toHaveLength(1);
    expect(server.underWay.get("bad")).toBe(1);
  });

  test("gives other namespaces their turns when more namespaces hang than it has writers", async () => {
    const { clock, server, recorder } = setUp();
    for (let n = 0; n < 20; n++) {
      server.hanging.add(`bad-${n}`);
      for (let m = 0; m < 25; m++) recorder.record({ ...DB, namespace: `bad-${n}`, uid: `${n}-${m}` }, REMOVED);
    }
    for (let n = 0; n < 5; n++) {
      recorder.record({ ...DB, uid: `good-${n}` }, REMOVED);
      await clock.advance(3_000);
      expect(server.stored).toHaveLength(n + 1);
    }
    await clock.advance(30 * 60_000);
    expect(recorder.stats).toEqual({ created: 5, updated: 0, dropped: 500 });
  });

  test("writes at most a hundred events concurrently, however many namespaces hang", async () => {
    const { clock, server, recorder } = setUp();
    for (let n = 0; n < 500; n++) {
      server.hanging.add(`bad-${n}`);
      recorder.record({ ...DB, namespace: `bad-${n}`, uid: `u${n}` }, REMOVED);
    }
    let most = 0;
    for (let n = 0; n < 300; n++) {
      await clock.advance(100);
      most = Math.max(
        most,
        [...server.underWay.values()].reduce((sum, count) => sum + count, 0),
      );
    }
    expect(most).toBeGreaterThan(40);
    expect(most).toBeLessThanOrEqual(100);
  });

  test("drops events of the namespace with the most waiting events first", async () => {
    const { clock, server, recorder } = setUp();
    server.hanging.add("bad");
    for (let n = 0; n < 1_500; n++) recorder.record({ ...DB, namespace: "bad", uid: `u${n}` }, REMOVED);
    for (let n = 0; n < 10; n++) recorder.record({ ...DB, uid: `good-${n}` }, REMOVED);
    await clock.advance(0);
    expect(recorder.stats).toEqual({ created: 10, updated: 0, dropped: 499 + 9 });
  });

  test("writes the events of one object in order, even when a write is retried", async () => {
    const { clock, server, recorder } = setUp();
    server.failures = ["KubeUnavailable"];
    for (const note of ["a", "b", "c"]) recorder.record(DB, { ...REMOVED, note });
    await clock.advance(5_000);
    expect(server.stored.map(({ note }) => note)).toEqual(["a", "b", "c"]);
  });

  test("drops events beyond a thousand while the server hangs", async () => {
    const { clock, server, recorder } = setUp();
    server.hangs = true;
    for (let n = 0; n < 1_500; n++) recorder.record({ ...DB, uid: `u${n}` }, REMOVED);
    await clock.advance(0);
    expect(recorder.stats.dropped).toBe(499);
  });

  test("writes all waiting events and last counts at flush(), and records nothing after it", async () => {
    const { server, recorder } = setUp();
    recorder.record(DB, REMOVED);
    recorder.record(DB, REMOVED);
    recorder.record(DB, { ...REMOVED, note: "other" });
    await recorder.flush(never);
    expect(server.stored.map((event) => event.series?.count)).toEqual([2, undefined]);
    recorder.record(DB, { ...REMOVED, note: "too late" });
    expect(recorder.stats.dropped).toBe(1);
  });

  test("ends flush() when its signal aborts, even while the server hangs", async () => {
    const { server, recorder } = setUp();
    server.hangs = true;
    recorder.record(DB, REMOVED);
    const stop = new AbortController();
    const flushed = recorder.flush(stop.signal);
    stop.abort();
    await flushed;
    expect(recorder.stats).toEqual({ created: 0, updated: 0, dropped: 1 });
  });
});

const cuts = [
  { name: "leaves a short text unchanged", text: "äö", max: 4, expect: "äö" },
  { name: "cuts between two characters", text: "äö", max: 3, expect: "ä" },
  { name: "does not split a character of four bytes", text: "a😀b", max: 4, expect: "a" },
];
for (const { name, text, max, expect: cut } of cuts) {
  test(`cutBytes: ${name}`, () => expect(cutBytes(text, max)).toBe(cut));
}
