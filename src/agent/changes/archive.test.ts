import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import { randomFrom } from "#kit/etcd/etcd-history.ts";
import { FakeHistory } from "#kit/etcd/fake-history.ts";
import { MemoryStore } from "#kit/servers/memory-store.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { StoreError } from "#objectstore/error.ts";
import { type EncryptionKey, readKey } from "../archive/key.ts";
import type { Answer } from "../choose-member.ts";
import { AgentError } from "../error.ts";
import { ProgressBoard } from "../progress.ts";
import type { ArchiveTask } from "../task.ts";
import { archiveChanges } from "./archive.ts";
import { changesKey } from "./layout.ts";
import type { Base } from "./origin.ts";
import { type Archived, type Reach, walk } from "./walk.ts";

const PREFIX = "backups/changes";
const FOLDER = `${PREFIX}/cdf-0001`;
const START = Date.UTC(2026, 0, 1);
const never = new AbortController().signal;

function world(key?: EncryptionKey) {
  const store = new MemoryStore();
  const etcd = new FakeHistory();
  const clock = new FakeClock(START);
  /** Whether etcd's certificate is rejected. */
  const disbelieved = { is: false };
  const start = (
    change: Partial<ArchiveTask> & { key?: EncryptionKey | undefined } = {},
    limits: { readonly maxObjectBytes?: number } = {},
  ) => {
    const board = new ProgressBoard(0);
    const stop = new AbortController();
    const task: ArchiveTask = {
      kind: "archive",
      source: { endpoints: ["http://m1:2379"] },
      destination: { store: "volume", path: "/" },
      prefix: PREFIX,
      maxAgeSeconds: 10,
      maxBytes: 1024 ** 2,
      ...change,
    };
    const sources = {
      ask: () => (disbelieved.is ? Promise.resolve([untrusted(etcd.answer)]) : Promise.resolve([etcd.answer])),
    };
    const parts = { ...limits, store, clock, sources, key: "key" in change ? change.key : key, board };
    const ended = archiveChanges(task, { ...parts, signal: stop.signal, log: silentLog }).catch(
      (thrown: unknown) => thrown,
    );
    return {
      board,
      async stop() {
        stop.abort();
        return await ended;
      },
    };
  };
  const until = async (what: string, holds: () => boolean) => {
    for (let turn = 0; turn < 2_000 && !holds(); turn++) {
      await clock.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 1)); // The compressor has a thread of its own.
    }
    assert.ok(holds(), what);
  };
  return { store, etcd, clock, start, until, disbelieved };
}

function untrusted({ source }: Answer): Answer {
  const cause = Object.assign(new Error("self-signed certificate"), { code: "SELF_SIGNED_CERT_IN_CHAIN" });
  return { source, failed: new OperatorError("EtcdUnavailable", "Status at m1:2379", { cause }) };
}
type World = ReturnType<typeof world>;

/** Archived changes after a base, as text. */
async function archived(
  { store }: World,
  revision: bigint,
  {
    atMs = START + 10 ** 9,
    startedMs = atMs,
    key,
    prefix = PREFIX,
  }: Partial<Base> & { key?: EncryptionKey | undefined; prefix?: string } = {},
) {
  const base = { clusterID: "cdf", revision, startedMs, atMs };
  const revisions: Archived[] = [];
  const walking = walk(base, { store, prefix, key, signal: never }, () => false);
  for (;;) {
    const { value, done } = await walking.next();
    if (done) return { revisions: revisions.filter((one) => one.revision > revision), reach: value as Reach };
    revisions.push(value as Archived);
  }
}

const textOf = ({ changes }: Archived) =>
  changes.map((change) => {
    const text = (base64: string) => Buffer.from(base64, "base64").toString();
    return "put" in change ? `${text(change.put)}=${text(change.value)}` : text(change.delete);
  });

async function refusal(promise: Promise<unknown>): Promise<string> {
  const thrown = await promise.then(
    () => assert.fail("it was taken"),
    (thrown: unknown) => thrown,
  );
  assert.ok(thrown instanceof AgentError, String(thrown));
  return `${thrown.reason}: ${thrown.message}`;
}

const upTo = (archiver: ReturnType<World["start"]>, revision: bigint) => () =>
  BigInt(archiver.board.now.archive?.revision ?? 0) >= revision;

describe("an archive, when the source's certificate", () => {
  /** How it ended, if it has. */
  async function endOf(archiver: ReturnType<World["start"]>): Promise<string> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const { reason } = (await archiver.stop()) as AgentError;
    return reason;
  }

  test("was never trusted ends with SourceTLS", async () => {
    const w = world();
    w.disbelieved.is = true;
    assert.equal(await endOf(w.start()), "SourceTLS");
  });

  test.each([
    [0, 8, "Stopped"],
    [0, 12, "SourceTLS"],
    [30, 8, "Stopped"],
    [30, 12, "SourceTLS"],
  ])("was trusted for %d minutes, then rejected for %d, ends with %s", async (trusted, minutes, end) => {
    const w = world();
    const archiver = w.start();
    await w.until("it follows", upTo(archiver, 1n));
    // Stored changes prove that certificates are trusted, however long ago following began.
    for (let minute = 0; minute < trusted; minute++) {
      await w.until("it is stored", upTo(archiver, w.etcd.commit(`a=${minute}`)));
      await w.clock.advance(50_000);
    }
    w.disbelieved.is = true;
    w.etcd.breakOff();
    for (let second = 0; second < minutes * 60; second += 10) {
      await w.clock.advance(10_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    w.disbelieved.is = false;
    if (end === "Stopped") await w.until("it continues", upTo(archiver, w.etcd.commit("a=1")));
    assert.equal(await endOf(archiver), end);
  });
});

describe("an archive", () => {
  test("stores every change with its lease within the maximum age, in revision order", async () => {
    const w = world();
    const archiver = w.start();
    await w.until("it follows", upTo(archiver, 1n));
    w.etcd.leases.set(7n, 60);
    w.etcd.commit("a=1");
    await w.clock.advance(9_000);
    assert.equal(w.store.keys.length, 1, "nothing is stored before its time");
    const last = w.etcd.commit("a", "b=leased", "c=");
    await w.until("it is stored", upTo(archiver, last));
    assert.deepEqual(w.store.keys, [changesKey(FOLDER, 0n), changesKey(FOLDER, 2n)]);
    const { revisions, reach } = await archived(w, 1n);
    assert.deepEqual(revisions.map(textOf), [["a=1"], ["a", "b=leased", "c="]]);
    assert.deepEqual(revisions[1]?.leases, [{ lease: "7", ttl: 60 }]);
    assert.deepEqual(
      revisions.map(({ afterMs }) => afterMs),
      [undefined, undefined],
    );
    assert.equal(reach.revision, last);
    assert.ok(reach.untilMs >= (revisions[1]?.atMs ?? 0));
    const { archive } = archiver.board.now;
    const bytes = w.store.keys.reduce((sum, key) => sum + (w.store.objects.get(key)?.bytes.length ?? 0), 0);
    const reported = { clusterID: "cdf", from: "2", revision: "3", gaps: 0, objects: 2, bytes };
    assert.deepEqual({ ...archive, time: "" }, { ...reported, time: "", since: undefined, message: undefined });
    await archiver.stop();
  });

  test("begins a new object when one is large, and never splits a revision", async () => {
    const w = world();
    w.etcd.batch = 1;
    const archiver = w.start({ maxBytes: 1024 });
    await w.until("it follows", upTo(archiver, 1n));
    for (let n = 0; n < 10; n++) w.etcd.commit(`a=${"x".repeat(300)}`, `b=${"y".repeat(300)}`);
    await w.until("all is stored", upTo(archiver, 11n));
    assert.ok(w.store.keys.length > 4);
    const { revisions } = await archived(w, 1n);
    assert.deepEqual(
      revisions.map(({ changes }) => changes.length),
      Array(10).fill(2),
    );
    await archiver.stop();
  });

  test("waits while etcd takes minutes to send a large revision", async () => {
    const w = world();
    w.etcd.batch = 1;
    const archiver = w.start();
    await w.until("it follows", upTo(archiver, 1n));
    w.etcd.pace = () => w.clock.sleep(150_000, never);
    w.etcd.commit("a", "b", "c", "d");
    await w.until("it is stored", upTo(archiver, 2n));
    assert.deepEqual((await archived(w, 1n)).revisions.map(textOf), [["a", "b", "c", "d"]]);
    assert.equal(archiver.board.now.archive?.message, undefined);
    await archiver.stop();
  });

  test("replaces a member that does not send newer revisions for minutes", async () => {
    const w = world();
    const archiver = w.start();
    await w.until("it follows", upTo(archiver, 1n));
    w.etcd.pace = () => w.clock.sleep(10 ** 9, never);
    w.etcd.commit("a");
    await w.until("the failure is reported", () => archiver.board.now.archive?.message !== undefined);
    assert.equal(archiver.board.now.archive?.message, "m1:2379 does not send revision 2");
    w.etcd.pace = () => Promise.resolve();
    await w.until("it is stored", upTo(archiver, 2n));
    await archiver.stop();
  });

  test("stores only a record per half hour while nothing changes", async () => {
    const w = world();
    const archiver = w.start();
    await w.until("it follows", upTo(archiver, 1n));
    await w.clock.advance(4 * 60_000);
    assert.equal(w.store.keys.length, 1);
    const time = () => Date.parse(archiver.board.now.archive?.time ?? "");
    for (let turn = 0; turn < 1_000 && time() < START + 30 * 60_000; turn++) {
      await w.clock.advance(10_000);
      await new Promise((resolve) => setTimeout(resolve, 1)); // The compressor has a thread of its own.
    }
    const [, quiet = "", ...more] = w.store.keys;
    assert.ok(quiet.includes(".quiet-") && more.length === 0, w.store.keys.join());
    const { reach } = await archived(w, 1n);
    assert.ok(reach.untilMs >= START + 30 * 60_000);
    assert.equal(archiver.board.now.archive?.time, new Date(reach.untilMs).toISOString());
    w.etcd.commit("a=1");
    await w.until("it is stored", upTo(archiver, 2n));
    assert.equal((await archived(w, 1n)).revisions.length, 1);
    await archiver.stop();
  });

  test("stores received changes when it stops, continues later, and marks changes received late", async () => {
    const w = world();
    const first = w.start();
    await w.until("it follows", upTo(first, 1n));
    w.etcd.commit("a=1");
    await w.clock.advance(1_000);
    const stopped = await first.stop();
    assert.ok(stopped instanceof AgentError && stopped.reason === "Stopped");
    w.etcd.commit("b=2");
    await w.clock.advance(60_000);
    const second = w.start();
    await w.until("it has gone on", upTo(second, 3n));
    const { revisions } = await archived(w, 1n);
    assert.deepEqual(revisions.map(textOf), [["a=1"], ["b=2"]]);
    const [received, late] = revisions;
    assert.equal(received?.afterMs, undefined);
    assert.ok(late?.afterMs !== undefined && late.atMs - late.afterMs > 60_000);
    await second.stop();
  });

  test("contains only complete revisions when etcd breaks the watch", async () => {
    const w = world();
    const archiver = w.start();
    await w.until("it follows", upTo(archiver, 1n));
    w.etcd.batch = 1;
    w.etcd.commit("a=1");
    w.etcd.commit("b=1", "b=2", "b=3", "b=4");
    // Wherever the feed fails, every revision is stored once and completely.
    for (let turn = 0; turn < 20; turn++) {
      w.etcd.breakOff();
      await w.clock.advance(1_500);
    }
    await w.until("it is stored", upTo(archiver, 3n));
    assert.deepEqual((await archived(w, 1n)).revisions.map(textOf), [["a=1"], ["b=1", "b=2", "b=3", "b=4"]]);
    await archiver.stop();
  });

  test("retries while the store is unreachable, and reports it", async () => {
    const w = world();
    const archiver = w.start();
    await w.until("it follows", upTo(archiver, 1n));
    w.store.before = (call) => {
      if (call.startsWith("put")) throw new StoreError("Unreachable", "no route to the store");
    };
    w.etcd.commit("a=1");
    await w.until("the failure is reported", () => archiver.board.now.archive?.message?.includes("no route") === true);
    w.etcd.commit("b=1");
    w.store.before = () => undefined;
    await w.until("all is stored", upTo(archiver, 3n));
    assert.equal(archiver.board.now.archive?.message, undefined);
    assert.equal((await archived(w, 1n)).revisions.length, 2);
    await archiver.stop();
  });

  test("deletes objects older than keepForSeconds, and keeps the first and the last", async () => {
    const w = world();
    w.store.now = () => new Date(w.clock.wallMs());
    const archiver = w.start({ keepForSeconds: 2.5 * 60 * 60 });
    await w.until("it follows", upTo(archiver, 1n));
    const theirs = changesKey(`${PREFIX}/abc-0001`, 2n);
    w.store.objects.set(theirs, w.store.objects.get(changesKey(FOLDER, 0n))!);
    for (let hour = 2n; hour < 8n; hour++) {
      w.etcd.commit(`a=${hour}`);
      await w.until("it is stored", upTo(archiver, hour));
      await w.clock.advance(60 * 60_000);
    }
    assert.ok(w.store.keys.includes(theirs), "what is another etcd's stays");
    const changes = w.store.keys.filter((key) => key.startsWith(FOLDER) && key.endsWith(".changes"));
    assert.deepEqual(changes.at(-1), changesKey(FOLDER, 7n));
    assert.ok(!changes.includes(changesKey(FOLDER, 3n)) && changes.includes(changesKey(FOLDER, 6n)), changes.join());
    assert.ok(changes.includes(changesKey(FOLDER, 0n)), "since when it went on stays on record");
    assert.match(await refusal(archived(w, 2n)), /^ArchiveGap: .*begins with revision [456]/);
    assert.deepEqual((await archived(w, 5n)).revisions.map(textOf), [["a=6"], ["a=7"]]);
    await archiver.stop();
  });

  test("deletes nothing when its clock is days ahead of the store's", async () => {
    const w = world();
    w.store.now = () => new Date(w.clock.wallMs());
    const keep = { keepForSeconds: 7 * 24 * 60 * 60 };
    const first = w.start(keep);
    await w.until("it follows", upTo(first, 1n));
    for (let n = 2n; n < 5n; n++) {
      w.etcd.commit(`a=${n}`);
      await w.until("it is stored", upTo(first, n));
    }
    await first.stop();
    const changes = () => w.store.keys.filter((key) => key.endsWith(".changes"));
    const before = changes();
    // By the clock of the archiver's new node; the store's clock is right.
    const right = w.clock.wallMs();
    w.store.now = () => new Date(right);
    await w.clock.advance(8 * 24 * 60 * 60_000);
    const second = w.start(keep);
    await w.until("it has pruned", upTo(second, 4n));
    await second.stop();
    assert.deepEqual(changes(), before);
    assert.equal((await archived(w, 1n)).revisions.length, 3);
  });

  test("is never applied to a backup of an earlier history, whatever its age", async () => {
    const w = world();
    w.store.now = () => new Date(w.clock.wallMs());
    const keep = { keepForSeconds: 2.5 * 60 * 60 };
    const first = w.start(keep);
    await w.until("it follows", upTo(first, 1n));
    for (let n = 2n; n < 9n; n++) w.etcd.commit(`old=${n}`);
    await w.until("it is stored", upTo(first, 8n));
    await first.stop();
    const beforeMs = w.clock.wallMs();
    w.etcd.goBackTo(1n);
    await w.clock.advance(6 * 60_000);
    const second = w.start(keep);
    for (let hour = 2n; hour < 9n; hour++) {
      await w.until("there is a new one", () => w.store.keys.some((key) => key.includes("cdf-0002/")));
      w.etcd.commit(`new=${hour}`);
      await w.until("it is stored", upTo(second, hour));
      await w.clock.advance(60 * 60_000);
    }
    // After revision 7 the changes belong to another history than the backup.
    assert.match(await refusal(archived(w, 7n, { atMs: beforeMs })), /^ArchiveGap: .* began after the backup/);
    assert.deepEqual((await archived(w, 6n)).revisions.map(textOf), [["new=7"], ["new=8"]]);
    // Nothing of the first history is left to add.
    assert.ok(!w.store.keys.some((key) => key.includes("cdf-0001/")), w.store.keys.join());
    await second.stop();
  });

  test("is read and continued after a move to another prefix", async () => {
    const w = world();
    const first = w.start();
    await w.until("it follows", upTo(first, 1n));
    for (let n = 2n; n < 5n; n++) await w.until("it is stored", upTo(first, w.etcd.commit(`a=${n}`)));
    await first.stop();
    for (const [key, object] of [...w.store.objects]) {
      w.store.objects.set(key.replace(PREFIX, "elsewhere/old"), object);
      w.store.objects.delete(key);
    }
    const prefix = "elsewhere/old";
    const text = async () => (await archived(w, 1n, { prefix })).revisions.flatMap(textOf);
    assert.deepEqual(await text(), ["a=2", "a=3", "a=4"]);
    const second = w.start({ prefix });
    await w.until("it is stored", upTo(second, w.etcd.commit("a=5")));
    await second.stop();
    assert.equal(second.board.now.archive?.gaps, 0);
    assert.deepEqual(await text(), ["a=2", "a=3", "a=4", "a=5"]);
  });

  test("has a gap where etcd compacted changes, across which no restore is possible", async () => {
    const w = world();
    const first = w.start();
    await w.until("it follows", upTo(first, 1n));
    await first.stop();
    for (let n = 0; n < 9; n++) w.etcd.commit(`a=${n}`);
    w.etcd.compact(8n);
    const second = w.start();
    await w.until("it has gone on", upTo(second, 10n));
    const { archive } = second.board.now;
    assert.deepEqual([archive?.from, archive?.gaps], ["9", 1]);
    assert.match(await refusal(archived(w, 5n)), /^ArchiveGap: revisions 6 to 8 .*Compacted.*use a backup made after/);
    assert.deepEqual((await archived(w, 8n)).revisions.map(textOf), [["a=7"], ["a=8"]]);
    await second.stop();
  });

  test("has a gap where a watch response is too large, and continues after it", async () => {
    const w = world();
    const archiver = w.start();
    await w.until("it follows", upTo(archiver, 1n));
    await w.until("it is stored", upTo(archiver, w.etcd.commit("a=1")));
    w.etcd.oversized = 3n;
    w.etcd.commit("a=2");
    await w.until("it has gone on", upTo(archiver, 3n));
    await w.until("it is stored", upTo(archiver, w.etcd.commit("a=3")));
    const { archive } = archiver.board.now;
    assert.deepEqual([archive?.from, archive?.gaps], ["4", 1]);
    assert.match(
      await refusal(archived(w, 2n)),
      /^ArchiveGap: revisions 3 to 3 .*TooLarge.*the answer to Watch has more than 1250000 fields/,
    );
    assert.deepEqual((await archived(w, 3n)).revisions.map(textOf), [["a=3"]]);
    await archiver.stop();
  });

  test("has a gap where a revision is too large, and continues after it", async () => {
    const w = world();
    const archiver = w.start({}, { maxObjectBytes: 10_000 });
    await w.until("it follows", upTo(archiver, 1n));
    w.etcd.commit("a=1");
    w.etcd.commit(...Array.from({ length: 300 }, (_, n) => `b${n}=${n}`));
    await w.until("it has gone on", upTo(archiver, 3n));
    await w.until("it is stored", upTo(archiver, w.etcd.commit("a=3")));
    assert.equal(archiver.board.now.archive?.gaps, 1);
    assert.match(
      await refusal(archived(w, 2n)),
      /^ArchiveGap: revisions 3 to 3 .*TooLarge.*revision 3 has more than 10000 bytes of changes/,
    );
    assert.deepEqual((await archived(w, 3n)).revisions.map(textOf), [["a=3"]]);
    await archiver.stop();
  });

  test.each<[string, (etcd: FakeHistory) => void]>([
    ["has an older revision than before", (etcd) => etcd.goBackTo(2n)],
    [
      "has other changes at the last revision",
      (etcd) => {
        etcd.goBackTo(2n);
        etcd.commit("other=3");
        etcd.commit("other=4");
      },
    ],
  ])("begins a new history when etcd %s", async (_name, happens) => {
    const w = world();
    const first = w.start();
    await w.until("it follows", upTo(first, 1n));
    const beforeMs = w.clock.wallMs();
    await w.clock.advance(6 * 60_000);
    for (let n = 2; n < 4; n++) w.etcd.commit(`a=${n}`);
    await w.until("it is stored", upTo(first, 3n));
    await first.stop();
    happens(w.etcd);
    await w.clock.advance(60_000);
    const second = w.start();
    await w.until("there is a new one", () => w.store.keys.some((key) => key.includes("cdf-0002/")));
    const base = w.etcd.revision;
    w.etcd.commit("new=1");
    await w.until("it is stored", upTo(second, base + 1n));
    assert.equal(second.board.now.archive?.gaps, 1);
    assert.equal(first.board.now.archive?.since, undefined);
    const began = w.store.keys.find((key) => key.includes("cdf-0002/"));
    const since = Date.parse(second.board.now.archive?.since ?? "");
    assert.ok(began !== undefined && since >= beforeMs + 7 * 60_000 && since <= w.clock.wallMs());
    assert.deepEqual((await archived(w, base)).revisions.map(textOf), [["new=1"]]);
    // An earlier backup belongs to the old history.
    assert.deepEqual((await archived(w, 2n, { atMs: beforeMs })).revisions.map(textOf), [["a=3"]]);
    await second.stop();
  });

  test("continues the history when a second archiver stores a new revision just before the store is listed", async () => {
    const w = world();
    const first = w.start();
    await w.until("it follows", upTo(first, 1n));
    await w.until("it is stored", upTo(first, w.etcd.commit("a=1")));
    await first.stop();
    const key = changesKey(FOLDER, 2n);
    const object = w.store.objects.get(key)!;
    w.store.objects.delete(key);
    w.etcd.goBackTo(1n);
    w.store.before = (call) => {
      if (!call.startsWith("list") || w.store.objects.has(key)) return;
      w.etcd.commit("a=1");
      w.store.objects.set(key, object);
    };
    const second = w.start();
    await w.until("it is stored", upTo(second, 2n));
    assert.equal(second.board.now.archive?.gaps, 0);
    assert.deepEqual(w.store.keys, [changesKey(FOLDER, 0n), key]);
    await second.stop();
  });

  test("yields the base's last revisions first, wherever objects end", async () => {
    const w = world();
    const archiver = w.start();
    await w.until("it follows", upTo(archiver, 1n));
    w.etcd.commit("a=2");
    w.etcd.commit("a=3");
    await w.until("it is stored", upTo(archiver, 3n));
    w.etcd.commit("a=4");
    await w.until("it is stored", upTo(archiver, 4n));
    await archiver.stop();
    const reported = async (revision: bigint) => {
      const base = { clusterID: "cdf", revision, startedMs: START, atMs: START };
      const numbers: bigint[] = [];
      for await (const one of walk(
        base,
        { store: w.store, prefix: PREFIX, key: undefined, signal: never },
        () => false,
      ))
        numbers.push(one.revision);
      return numbers;
    };
    assert.deepEqual(await reported(1n), [2n, 3n, 4n]);
    assert.deepEqual(await reported(2n), [2n, 3n, 4n]);
    assert.deepEqual(await reported(3n), [2n, 3n, 4n]);
    assert.deepEqual(await reported(4n), [4n]);
    // The object is not needed for changes after the base.
    const own = changesKey(FOLDER, 2n);
    w.store.objects.get(own)!.bytes[60]! ^= 1;
    assert.deepEqual(await reported(3n), [4n]);
    w.store.objects.get(own)!.bytes[60]! ^= 1;
    let reads = 0;
    w.store.before = (call) => {
      if (call === `get ${own}` && ++reads === 2) w.store.objects.delete(own);
    };
    assert.deepEqual(await reported(3n), [4n]);
    assert.ok(reads === 2 && !w.store.keys.includes(own));
    assert.deepEqual(await reported(3n), [4n]);
  });

  /**
   * The first history is known to have continued until `endMs`. etcd continues from revision 2 in a second history,
   * which the archiver finds at `beganMs`.
   */
  async function twoHistories() {
    const w = world();
    const first = w.start();
    await w.until("it follows", upTo(first, 1n));
    w.etcd.commit("old=2");
    for (let n = 3n; n < 6n; n++) {
      w.etcd.commit(`old=${n}`);
      await w.until("it is stored", upTo(first, n));
      await w.clock.advance(n < 5n ? 15 * 60_000 : 1_000);
    }
    await first.stop();
    const endMs = Date.parse(first.board.now.archive?.time ?? "");
    w.etcd.goBackTo(2n);
    await w.clock.advance(20 * 60_000);
    const second = w.start();
    await w.until("there is a new one", () => second.board.now.archive?.since !== undefined);
    const beganMs = Date.parse(second.board.now.archive?.since ?? "");
    for (let n = 3; n < 6; n++) w.etcd.commit(`new=${n}`);
    await w.until("it is stored", upTo(second, 5n));
    await second.stop();
    return { w, endMs, beganMs };
  }

  test("with two histories is applied to a backup only at least five minutes from the change", async () => {
    const { w, endMs, beganMs } = await twoHistories();
    const texts = async (startedMs: number, atMs: number) =>
      (await archived(w, 2n, { startedMs, atMs })).revisions.flatMap(textOf);
    const [old, fresh] = [3, 4, 5]
      .map((n) => [`old=${n}`, `new=${n}`])
      .reduce<[string[], string[]]>(
        ([a, b], [x = "", y = ""]) => [
          [...a, x],
          [...b, y],
        ],
        [[], []],
      );
    const MARGIN = 5 * 60_000;
    assert.deepEqual(await texts(endMs - MARGIN - 9_000, endMs - MARGIN), old);
    assert.deepEqual(await texts(beganMs + MARGIN, beganMs + MARGIN + 9_000), fresh);
    // Made right after the second history began, on a node ten seconds behind; before the archiver noticed; during the
    // change.
    for (const [startedMs, atMs] of [
      [beganMs - 8_000, beganMs - 5_000],
      [beganMs + 5_000, beganMs + 8_000],
      [endMs + MARGIN, endMs + MARGIN + 1_000],
      [endMs - MARGIN - 9_000, endMs - MARGIN + 1],
      [beganMs + MARGIN - 1, beganMs + MARGIN + 9_000],
      [endMs - 2 * MARGIN, beganMs + 2 * MARGIN],
    ] as const)
      assert.match(
        await refusal(texts(startedMs, atMs)),
        /^ArchiveGap: .* new history between .*; use a backup from before .* or from after .*$/,
      );
  });

  test("is read up to a corrupt object, also when another history follows", async () => {
    const { w, endMs, beganMs } = await twoHistories();
    const before = { startedMs: endMs - 21 * 60_000, atMs: endMs - 21 * 60_000 };
    const last = changesKey(FOLDER, 5n);
    w.store.objects.get(last)!.bytes[60]! ^= 1;
    assert.match(await refusal(archived(w, 2n, before)), /^ArchiveCorrupt: .*005\.changes is not as it was stored/);
    const near = { startedMs: endMs - 60_000, atMs: endMs - 60_000 };
    assert.match(await refusal(archived(w, 2n, near)), /^ArchiveGap: .* began a new history/);
    const after = await archived(w, 2n, { atMs: beganMs + 5 * 60_000 });
    assert.equal(after.revisions.length, 3);
  });

  test("begins a new history with another encryption key, and is read only with the right key", async () => {
    const [key, other] = [randomBytes(32), randomBytes(32)].map((bytes) => readKey(bytes, "a key"));
    const w = world(key);
    const first = w.start();
    await w.until("it follows", upTo(first, 1n));
    w.etcd.commit("a=1");
    await w.until("it is stored", upTo(first, 2n));
    await first.stop();
    assert.equal((await archived(w, 1n, { key })).revisions.length, 1);
    assert.match(await refusal(archived(w, 1n, { key: other })), /^BadKey: .*changes/);
    assert.match(await refusal(archived(w, 1n)), /^BadKey: .*encrypted/);
    const second = w.start({ key: other });
    await w.until("there is a new one", () => w.store.keys.some((name) => name.includes("cdf-0002/")));
    await second.stop();
  });

  test.each([1, 2, 3, 4, 5])(
    "stores each revision once with two archivers, broken watches and a failing store (seed %i)",
    async (seed) => {
      const w = world();
      const random = randomFrom(seed);
      w.etcd.batch = 1 + random(3);
      const archivers = [w.start({ maxBytes: 1024 }), w.start({ maxAgeSeconds: 3 })];
      await w.until("they follow", () => archivers.every((archiver) => upTo(archiver, 1n)()));
      w.store.before = (call) => {
        if (call.startsWith("put") && random(4) === 0) throw new StoreError("Unreachable", "not now");
      };
      const wanted: string[][] = [];
      for (let step = 0; step < 60; step++) {
        const changes = Array.from({ length: 1 + random(4) }, (_, n) => (random(3) ? `${n}=${step}` : `${n}`));
        w.etcd.commit(...changes);
        wanted.push(changes);
        if (random(5) === 0) w.etcd.breakOff();
        if (random(10) === 0) {
          const which = random(2);
          await Promise.race([archivers[which]?.stop(), w.clock.advance(20_000)]);
          archivers[which] = w.start({ maxAgeSeconds: 1 + random(5) });
        }
        await w.clock.advance(random(4_000));
      }
      w.store.before = () => undefined;
      await w.until("all is stored", () => archivers.some((archiver) => upTo(archiver, w.etcd.revision)()));
      assert.deepEqual((await archived(w, 1n)).revisions.map(textOf), wanted);
      // An archiver that was refused waits before it stores the rest: its stop needs the clock, too.
      let areStopped = false;
      const stopping = Promise.all(archivers.map((archiver) => archiver.stop())).then(() => {
        areStopped = true;
      });
      await w.until("they have stopped", () => areStopped);
      await stopping;
    },
  );
});

describe("a walk through an archive is refused for", () => {
  async function threeObjects(): Promise<World> {
    const w = world();
    const archiver = w.start();
    await w.until("it follows", upTo(archiver, 1n));
    for (let n = 2n; n < 5n; n++) {
      w.etcd.commit(`a=${n}`);
      await w.until("it is stored", upTo(archiver, n));
    }
    await archiver.stop();
    return w;
  }
  const second = changesKey(FOLDER, 3n);
  const third = changesKey(FOLDER, 4n);

  test.each<[string, (store: MemoryStore) => void, RegExp]>([
    ["a missing object", (store) => store.objects.delete(second), /^ArchiveCorrupt: .*003\.changes is missing/],
    [
      "a changed byte",
      (store) => (store.objects.get(second)!.bytes[60]! ^= 1),
      /^ArchiveCorrupt: .*003\.changes is not as it was stored/,
    ],
    [
      "a changed byte in the last object",
      (store) => (store.objects.get(third)!.bytes[60]! ^= 1),
      /^ArchiveCorrupt: .*004\.changes is not as it was stored/,
    ],
    [
      "a truncated object",
      (store) => {
        const found = store.objects.get(second)!;
        store.objects.set(second, { ...found, bytes: found.bytes.subarray(0, -20) });
      },
      /^ArchiveCorrupt: .*003\.changes is not as it was stored/,
    ],
    [
      "an object at another's key",
      (store) => store.objects.set(second, store.objects.get(third)!),
      /^ArchiveCorrupt: .*003\.changes begins with revision 4/,
    ],
  ])("%s", async (_name, happens, expected) => {
    const w = await threeObjects();
    assert.equal((await archived(w, 1n)).revisions.length, 3);
    happens(w.store);
    assert.match(await refusal(archived(w, 1n)), expected);
  });

  test("an object with the same revisions from another archive", async () => {
    const w = await threeObjects();
    const other = await threeObjects();
    w.store.objects.set(second, other.store.objects.get(second)!);
    other.store.objects.get(second)!;
    const first = changesKey(FOLDER, 2n);
    // The same changes at other times make other objects.
    assert.ok(w.store.objects.has(first));
    const again = world();
    await again.clock.advance(5_000);
    const archiver = again.start();
    await again.until("it follows", upTo(archiver, 1n));
    again.etcd.commit("a=2");
    again.etcd.commit("evil=3");
    await again.until("it is stored", upTo(archiver, 3n));
    await archiver.stop();
    w.store.objects.set(first, again.store.objects.get(first)!);
    assert.match(await refusal(archived(w, 1n)), /^ArchiveCorrupt: .* was not stored after the object/);
  });

  test("an archive of another cluster, and for a base older than the archive", async () => {
    const w = await threeObjects();
    const place = { store: w.store, prefix: PREFIX, key: undefined, signal: never };
    const stranger = walk({ clusterID: "abc", revision: 1n, startedMs: START, atMs: START }, place, () => false).next();
    assert.match(await refusal(stranger), /^ArchiveGap: nothing of the cluster abc/);
    assert.match(await refusal(archived(w, 0n)), /^ArchiveGap: revisions 1 to 1 are not archived \(Began/);
    w.store.objects.delete(changesKey(FOLDER, 0n));
    assert.match(await refusal(archived(w, 0n)), /^ArchiveGap: .*begins with revision 2/);
  });
});
