import { expect, test } from "vitest";
import { bounded, type Fate, LeaseServer } from "#kit/servers/kube-lease-server.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { LEASES } from "./kinds.ts";
import { heldLease } from "./lease-record.ts";
import { LeaseView } from "./lease-view.ts";

const REF = { namespace: "default", name: "operator" };
const OPTIONS = { signal: new AbortController().signal, deadlineMs: 3_000 };

/** A lease that has just been renewed, and a view of it. */
async function setUp() {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const self = { fate: "arrives" as Fate, travelMs: 0 };
  const client = bounded(
    server.client(
      () => self.fate,
      () => clock.sleep(self.travelMs),
    ),
    clock,
  );
  const holder = { identity: "a", durationMs: 15_000, nowMs: 0 };
  const renew = async (): Promise<void> => {
    const draft = heldLease(server.lease ?? REF, holder);
    const options = { signal: OPTIONS.signal };
    const direct = server.client(
      () => "arrives",
      () => Promise.resolve(),
    );
    await (server.lease === undefined ? direct.create(LEASES, draft, options) : direct.replace(LEASES, draft, options));
  };
  await renew();
  const view = new LeaseView(client, REF, clock, 15_000);
  /** Reads the lease once a second. @returns how long its holder has been silent after the last read */
  const look = async (times: number, fate: Fate = "arrives", travelMs = 0): Promise<number> => {
    Object.assign(self, { fate, travelMs });
    for (let n = 0; n < times; n++) {
      const done = view.look(OPTIONS).catch(() => undefined);
      await clock.advance(2 * travelMs);
      await done;
      await clock.advance(1_000);
    }
    return view.silentMs;
  };
  return { server, renew, view, look };
}

test("a lease counts as silent since its last change, by the time of answered reads only", async () => {
  const { renew, view, look } = await setUp();
  expect(view.silentMs).toBe(0);
  expect(await look(1)).toBe(0);
  expect(await look(5)).toBe(5_000);
  await renew();
  expect(await look(1)).toBe(0);
  expect(await look(2)).toBe(2_000);
});

test.each<[string, Fate, number]>([
  ["fails", "lost", 0],
  ["has no answer within its deadline", "arrives", 4_000],
  ["is answered after more than two seconds", "arrives", 1_100],
])(
  "when a read %s, its time does not count, since the holder may be unable to renew either",
  async (_title, fate, travelMs) => {
    const { view, look } = await setUp();
    await look(3);
    expect(view.silentMs).toBe(2_000);
    expect(await look(4, fate, travelMs)).toBe(2_000);
    expect(await look(1)).toBe(2_000); // The earlier silence remains, but the count of answered reads starts from zero.
    expect(await look(2)).toBe(2_000);
    expect(await look(1)).toBe(3_000);
  },
);

test("a read that is answered within two seconds counts", async () => {
  const { look } = await setUp();
  expect(await look(3, "arrives", 1_000)).toBe(4_000); // The lease was read after two of the six seconds before the last read was sent.
});

test("a deleted lease counts as not renewed", async () => {
  const { server, look } = await setUp();
  await look(2);
  server.lease = undefined;
  expect(await look(2)).toBe(3_000);
});
