import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { systemClock } from "#base/clock.ts";
import { rfc3339Micro } from "#base/timestamp.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { LEASES } from "#kube/kinds.ts";
import type { LeaseClient } from "#kube/lease.ts";
import { GroupLease } from "#shards/group-lease.ts";
import { countPatch, rollOf } from "#shards/lease-roll.ts";

const GROUP = "shards-rule2-of-2";
const REF = { namespace: "default", name: "group" };
const OPTIONS = { signal: new AbortController().signal };
let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer();
});
afterAll(async () => await server?.stop());

/** A process that holds the lease with its group, and the verbs of its changes. */
async function member(process: string) {
  const client = await server.clientFor("admin");
  const made: string[] = [];
  const noted = async <T>(verb: string, call: Promise<T>): Promise<T> => {
    const result = await call;
    made.push(verb);
    return result;
  };
  const leases: LeaseClient = {
    get: (resource, ref, options) => client.get(resource, ref, options),
    create: (resource, draft, options) => noted("create", client.create(resource, draft, options)),
    replace: (resource, draft, options) => noted("replace", client.replace(resource, draft, options)),
    patch: (resource, ref, patch, options) => noted("patch", client.patch(resource, ref, patch, options)),
  };
  const stop = new AbortController();
  const lease = new GroupLease({ client: leases, ...REF, group: GROUP, process });
  const done = lease.run(stop.signal);
  const leave = async (): Promise<void> => {
    stop.abort();
    await done;
    await lease.leave();
    await client.close();
  };
  return { lease, made, leave };
}

const rollNow = async () => rollOf(await server.client.get(LEASES, REF, OPTIONS), GROUP);

test("the API server accepts patches by which processes renew and release a lease, and refuses an outdated patch", async () => {
  const a = await member("a");
  await vi.waitFor(() => expect(a.lease.mayAct()).toBe(true), 10_000);
  const b = await member("b");
  await systemClock.sleep(9_000);
  expect([a, b].map(({ lease }) => lease.mayAct())).toEqual([true, true]);
  expect([...(await rollNow()).keys()].toSorted()).toEqual(["a", "b"]);
  expect(a.made[0]).toBe("create");
  for (const { made } of [{ made: a.made.slice(1) }, b]) {
    expect(made.length).toBeGreaterThanOrEqual(3);
    expect(new Set(made)).toEqual(new Set(["patch"]));
  }

  const [before, late] = [1, 2].map((count) => ({ count, silentMs: 15_000 }));
  const patch = countPatch(GROUP, "b", before, late!, rfc3339Micro(systemClock.wallMs()));
  const refused = server.client.patch(LEASES, REF, patch, { ...OPTIONS, type: "json" });
  await expect(refused).rejects.toMatchObject({ code: "KubeInvalid" });
  expect((await rollNow()).get("b")?.count).toBeGreaterThan(2);

  await a.leave();
  expect(a.made.at(-1)).toBe("patch");
  expect([...(await rollNow()).keys()]).toEqual(["b"]);
  await b.leave();
  expect(b.made.at(-1)).toBe("replace");
  expect((await server.client.get(LEASES, REF, OPTIONS)).spec?.holderIdentity).toBe("");
}, 60_000);
