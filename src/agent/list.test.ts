import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { MemoryStore } from "#kit/servers/memory-store.ts";
import { StoreError } from "#objectstore/error.ts";
import { type Manifest, manifestKeyOf, manifestText } from "./archive/manifest.ts";
import { listBackups } from "./list.ts";

const never = new AbortController().signal;
const FOLDER = "shop/orders/uid";

function manifestOf(key: string, change: Partial<Manifest> = {}): Manifest {
  return {
    formatVersion: 1,
    key,
    bytes: 20_512,
    sha256: "a".repeat(64),
    storedBytes: 5,
    storedSha256: "b".repeat(64),
    revision: "12",
    cluster: { namespace: "shop", name: "orders", uid: "uid", id: "cdf" },
    memberID: "8e",
    etcdVersion: "3.6.16",
    startedAt: "2026-11-22T03:00:00.000Z",
    completedAt: "2026-11-22T03:00:02.000Z",
    compression: "None",
    backupName: "daily",
    backupUID: "0a1b2c3d-0000",
    attempt: "1",
    ...change,
  };
}

function put(store: MemoryStore, key: string, text = "12345") {
  store.objects.set(key, { bytes: Buffer.from(text), metadata: {}, modified: new Date("2026-11-25T00:00:00Z") });
}

function backup(store: MemoryStore, name: string, change: Partial<Manifest> = {}) {
  const key = `${FOLDER}/${name}`;
  put(store, key);
  put(store, manifestKeyOf(key), manifestText(manifestOf(key, change)));
  return key;
}

async function linesOf(store: MemoryStore, prefix = ""): Promise<readonly string[]> {
  return (await listBackups(store, prefix, never)).lines;
}

/** State and key of each backup. */
async function statesOf(store: MemoryStore, prefix = "") {
  const [, ...rows] = await linesOf(store, prefix);
  return rows.map((row) => row.split(/ +/)).map((cells) => [cells[1], cells[7]]);
}

describe("the list of a store", () => {
  test("has each backup with its facts, the newest last, also after a copy in another order", async () => {
    const store = new MemoryStore();
    const encryption = { algorithm: "AES-256-GCM-STREAM", keyID: "0a1b2c3d" } as const;
    const newer = backup(store, "20261122T030000Z-daily.db.enc", { encryption });
    const older = backup(store, "20261121T030000Z-daily.db");
    const [head, ...rows] = await linesOf(store);
    assert.match(head ?? "", /^COMPLETED +STATE +CLUSTER +ETCD +REVISION +BYTES +ENCRYPTION-KEY +OBJECT$/);
    assert.deepEqual(
      rows.map((row) => row.split(/ +/)),
      [
        ["2026-11-22T03:00:02.000Z", "whole", "shop/orders", "3.6.16", "12", "20512", "none", older],
        ["2026-11-22T03:00:02.000Z", "whole", "shop/orders", "3.6.16", "12", "20512", "0a1b2c3d", newer],
      ],
    );
    assert.equal((await listBackups(store, "", never)).backups, 2);
  });

  test("marks backups that are not whole, and lists the others", async () => {
    const store = new MemoryStore();
    const lost = backup(store, "20261121T010000Z-a.db");
    store.objects.delete(lost);
    const cut = backup(store, "20261121T020000Z-b.db");
    put(store, cut, "123");
    const bad = `${FOLDER}/20261121T030000Z-c.db`;
    put(store, manifestKeyOf(bad), "{");
    const cold = backup(store, "20261121T033000Z-cold.db");
    const good = backup(store, "20261121T040000Z-d.db");
    const get = store.get.bind(store);
    store.get = (key, options) => {
      if (key === manifestKeyOf(cold)) throw new StoreError("AccessDenied", "the object is archived");
      return get(key, options);
    };
    assert.deepEqual(await statesOf(store), [
      ["no-object", lost],
      ["other-size", cut],
      ["bad-manifest", bad],
      ["unreadable", cold],
      ["whole", good],
    ]);
  });

  test("has only what is below the prefix", async () => {
    const store = new MemoryStore();
    backup(store, "20261121T010000Z-a.db");
    assert.deepEqual(await statesOf(store, "other/"), []);
    assert.equal((await statesOf(store, "shop/")).length, 1);
  });

  test("has the folders of archived changes", async () => {
    const store = new MemoryStore();
    for (const name of ["00000000000000000000.changes", "00000000000000000007.quiet-001790000000000"])
      put(store, `${FOLDER}/changes/cdf-0001/${name}`);
    put(store, `${FOLDER}/changes/notes.txt`);
    const lines = await linesOf(store);
    assert.deepEqual(lines.slice(-2), [
      "Archived changes, with the time of the last object:",
      `${FOLDER}/changes/cdf-0001  2026-11-25T00:00:00.000Z`,
    ]);
  });

  test("reads only the newest of many, and counts the others", async () => {
    const store = new MemoryStore();
    for (let n = 0; n < 1_200; n++) backup(store, `20261121T${String(n).padStart(6, "0")}Z-a.db`);
    const { lines, backups } = await listBackups(store, "", never);
    assert.equal(backups, 1_200);
    assert.equal(lines.length, 502);
    assert.match(lines.at(-2) ?? "", /T001199Z/);
    assert.equal(lines.at(-1), '(700 older backups are not shown: set "prefix" to list a part of them)');
    assert.ok(store.calls.filter((call) => call.startsWith("get ")).length <= 500);
  });

  test("has real backups, however many names claim a time in the future", async () => {
    const store = new MemoryStore();
    const real = backup(store, "20261125T120000Z-daily.db");
    for (let n = 0; n < 500; n++) put(store, manifestKeyOf(`${FOLDER}/20991121T${String(n).padStart(6, "0")}Z-a.db`));
    assert.deepEqual((await statesOf(store)).at(-2), ["whole", real]);
  });

  test("has no control characters and no further columns, whatever the store has", async () => {
    const store = new MemoryStore();
    backup(store, "20261121T010000Z-\u001b[2J.db", {
      cluster: { namespace: "a b\n", name: "\u001b]0;x\u0007", id: "cdf" },
      etcdVersion: "",
    });
    const text = (await linesOf(store)).join("");
    assert.doesNotMatch(text, /[^\x20-\x7e]/);
    assert.match(text, / whole +a\?b\?\/\?\]0;x\? +- /);
  });
});
