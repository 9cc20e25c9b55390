import { beforeEach, describe, expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { type Log, silentLog } from "#base/log.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeClient } from "#kube/client.ts";
import { type AnyResource, CUSTOM_RESOURCE_DEFINITIONS, type KubeObject, resource } from "#kube/kinds.ts";
import { migrate, migrateStorage } from "#kube/storage-migration.ts";

const THINGS = resource<KubeObject>({
  group: "example.com",
  version: "v2",
  kind: "Thing",
  plural: "things",
  namespaced: true,
});
const NAMES = ["a", "b", "c", "d", "e"];

let clock: FakeClock;
let calls: string[];
let logged: string[];
let stored: string[];
let storage: string;
/** Code of the error that a call with this name throws. */
let failing: (call: string) => string | undefined;
let stop: AbortController;

beforeEach(() => {
  clock = new FakeClock();
  calls = [];
  logged = [];
  stored = ["v1", "v2"];
  storage = "v2";
  failing = () => undefined;
  stop = new AbortController();
});

function called(call: string): void {
  calls.push(call);
  const code = failing(call);
  if (code !== undefined) throw new OperatorError(code as OperatorError["code"], call);
}

/** Pages of two objects. */
async function* pages(of: AnyResource) {
  for (let start = 0; start < NAMES.length; start += 2) {
    called(`list ${of.plural}`);
    const items = NAMES.slice(start, start + 2).map((name) => ({ metadata: { namespace: "foo", name } }));
    yield await Promise.resolve({ metadata: { resourceVersion: "1" }, items });
  }
}

const kube = {
  pages,
  get: (of: AnyResource, { name }: { name: string }) => {
    called(`get ${name}`);
    const metadata = { name, resourceVersion: `version-of-${name}`, uid: "u" };
    if (of.plural !== CUSTOM_RESOURCE_DEFINITIONS.plural) return Promise.resolve({ metadata, status: { ready: name } });
    const versions = ["v1", "v2"].map((each) => ({ name: each, storage: each === storage }));
    return Promise.resolve({ metadata, spec: { versions }, status: { conditions: ["kept"], storedVersions: stored } });
  },
  replace: (
    of: AnyResource,
    object: { metadata: object; status: unknown },
    { subresource }: { subresource: string },
  ) => {
    const { name, resourceVersion } = object.metadata as { name: string; resourceVersion: string };
    called(`replace ${subresource} ${name}`);
    expect(resourceVersion).toBe(`version-of-${name}`);
    if (of.plural === CUSTOM_RESOURCE_DEFINITIONS.plural) {
      const { storedVersions, ...rest } = object.status as { storedVersions: string[] };
      expect(rest).toEqual({ conditions: ["kept"] });
      stored = storedVersions;
    } else expect(object.status).toEqual({ ready: name });
    return Promise.resolve(object);
  },
} as unknown as KubeClient;

const addLine = (fields: object, message: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
const log: Log = { ...silentLog, info: addLine, warn: addLine };

/** Runs one migration, with all the time that it takes. */
async function runMigration(): Promise<unknown> {
  const done = migrate({ kube, clock, log }, THINGS, stop.signal).then(
    () => "done",
    (thrown: OperatorError) => thrown.code,
  );
  await clock.advance(60_000);
  return await done;
}

const ALL = NAMES.flatMap((name) => [`get ${name}`, `replace status ${name}`]);
const LIST = ["list things", "list things", "list things"];
const DEFINITION = "things.example.com";

describe("a storage migration", () => {
  test("writes every object back unchanged, and then removes old versions from status.storedVersions", async () => {
    expect(await runMigration()).toBe("done");
    expect(calls).toEqual([`get ${DEFINITION}`, ...LIST, ...ALL, `replace status ${DEFINITION}`]);
    expect(stored).toEqual(["v2"]);
  });

  test("begins ten seconds later, when every API server knows the definition, and pauses between objects", async () => {
    const done = migrate({ kube, clock, log }, THINGS, stop.signal);
    await clock.advance(9_999);
    expect(calls).toEqual([`get ${DEFINITION}`]);
    await clock.advance(1);
    expect(calls.filter((call) => call.startsWith("replace"))).toEqual(["replace status a"]);
    await clock.advance(20);
    expect(calls.filter((call) => call.startsWith("replace"))).toEqual(["replace status a", "replace status b"]);
    await clock.advance(1_000);
    await done;
  });

  test("does nothing when only the current version is stored", async () => {
    stored = ["v2"];
    expect(await runMigration()).toBe("done");
    expect(calls).toEqual([`get ${DEFINITION}`]);
    expect(logged).toEqual([]);
  });

  test("does nothing when the storage version is not the current version", async () => {
    storage = "v1";
    expect(await runMigration()).toBe("done");
    expect(calls).toEqual([`get ${DEFINITION}`]);
    expect(stored).toEqual(["v1", "v2"]);
  });

  test.each([
    ["changed", "replace status b", "KubeConflict"],
    ["deleted", "get b", "KubeNotFound"],
    ["deleted during its write", "replace status b", "KubeNotFound"],
  ])("continues when another client has %s an object", async (_what, where, code) => {
    failing = (call) => (call === where ? code : undefined);
    expect(await runMigration()).toBe("done");
    expect(calls).toContain("replace status e");
    expect(stored).toEqual(["v2"]);
  });

  test.each([
    ["get b", "KubeUnavailable"],
    ["replace status b", "KubeForbidden"],
    ["replace status b", "KubeInvalid"],
    ["list things", "KubeExpired"],
    [`get ${DEFINITION}`, "KubeForbidden"],
    // The definition has changed since, so older versions may have been stored.
    [`replace status ${DEFINITION}`, "KubeConflict"],
  ])("keeps status.storedVersions when %s fails", async (where, code) => {
    failing = (call) => (call === where ? code : undefined);
    expect(await runMigration()).toBe(code);
    expect(stored).toEqual(["v1", "v2"]);
  });
});

describe("objects that cannot be written back", () => {
  test("are reported by name, do not stop the others, and keep status.storedVersions", async () => {
    const bad = ["get b", "replace status d"];
    failing = (call) => (bad.includes(call) ? "KubeInvalid" : undefined);
    expect(await runMigration()).toBe("KubeInvalid");
    expect(calls.filter((call) => call.startsWith("replace"))).toEqual(
      ["a", "c", "d", "e"].map((name) => `replace status ${name}`),
    );
    expect(stored).toEqual(["v1", "v2"]);
  });

  test("are logged, and retried until all are stored", async () => {
    failing = (call) => (call === "get b" || call === "get d" ? "KubeInvalid" : undefined);
    const done = migrateStorage({ kube, clock, log }, [THINGS], stop.signal);
    await clock.advance(11_000);
    const joined = logged.join();
    for (const each of ["2 of the objects failed", "foo/b: get b", "foo/d: get d"]) expect(joined).toContain(each);
    failing = () => undefined;
    await clock.advance(60_000);
    expect(stored).toEqual(["v2"]);
    stop.abort();
    await done;
  });
});

describe("repeated migrations", () => {
  const looks = () => calls.filter((call) => call === `get ${DEFINITION}`).length;

  test("a failure of one kind is logged, does not stop another kind, and is retried with growing pauses", async () => {
    const OTHERS: AnyResource = { ...THINGS, plural: "others" };
    failing = (call) => (call === `get ${DEFINITION}` ? "KubeForbidden" : undefined);
    const done = migrateStorage({ kube, clock, log }, [THINGS, OTHERS], stop.signal);
    await clock.advance(5_000);
    expect(looks()).toBe(1);
    expect(logged).toEqual([expect.stringContaining("could not be rewritten")]);
    await clock.advance(10_000);
    expect(looks()).toBe(2);
    expect(stored).toEqual(["v2"]); // of the other kind
    await clock.advance(3_600_000);
    expect(looks()).toBeLessThan(16);
    stored = ["v1"];
    failing = () => undefined;
    await clock.advance(700_000);
    expect(stored).toEqual(["v2"]);
    stop.abort();
    await done;
  });

  test("a conflict on the CustomResourceDefinition is retried, and logged as a warning when it persists", async () => {
    failing = (call) => (call === `replace status ${DEFINITION}` ? "KubeConflict" : undefined);
    const done = migrateStorage({ kube, clock, log }, [THINGS], stop.signal);
    await clock.advance(11_000);
    expect(logged.join()).toContain("the CRD has changed");
    expect(logged.join()).not.toContain("could not be rewritten");
    await clock.advance(30_000);
    expect(logged.join()).toContain("could not be rewritten");
    failing = () => undefined;
    await clock.advance(60_000);
    expect(stored).toEqual(["v2"]);
    stop.abort();
    await done;
  });

  test("a migration runs every ten minutes, since another release may have changed the definitions", async () => {
    const done = migrateStorage({ kube, clock, log }, [THINGS], stop.signal);
    await clock.advance(60_000);
    expect(stored).toEqual(["v2"]);
    stored = ["v2", "v3"];
    await clock.advance(540_000);
    expect(stored).toEqual(["v2", "v3"]);
    await clock.advance(60_000);
    expect(stored).toEqual(["v2"]);
    stop.abort();
    await done;
  });

  test("a migration stops at once, and logs nothing, when the leader's term ends", async () => {
    const done = migrateStorage({ kube, clock, log }, [THINGS], stop.signal);
    await clock.advance(10_030);
    logged.length = 0;
    const before = calls.length;
    stop.abort();
    await done;
    expect(calls.length - before).toBe(0);
    expect(logged).toEqual([]);
    expect(stored).toEqual(["v1", "v2"]);
  });
});
