import { expect, test } from "vitest";
import { FakeClock } from "#kit/fake-clock.ts";
import { bounded, type Fate, LeaseServer } from "#kit/kube-lease-server.ts";
import { LEASES } from "./kinds.ts";
import { heldLease } from "./lease-record.ts";
import { LeaseView } from "./lease-view.ts";

const REF = { namespace: "default", name: "operator" };
const OPTIONS = { signal: new AbortController().signal, deadlineMs: 3_000 };

/** A lease that somebody has just renewed, and who looks at it. */
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
  /** One look a second. @returns for how long the holder was silent, after the last one */
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

test("a holder is silent since its lease was seen to change, as far as looks were answered", async () => {
  const { renew, view, look } = await setUp();
  expect(view.silentMs).toBe(0);
  expect(await look(1)).toBe(0);
  expect(await look(5)).toBe(5_000);
  await renew();
  expect(await look(1)).toBe(0);
  expect(await look(2)).toBe(2_000);
});

test.each<[string, Fate, number]>([
  ["is refused", "lost", 0],
  ["is not answered", "arrives", 4_000],
  ["is answered late", "arrives", 1_100],
])(
  "while a look %s nobody else can renew either: it counts for nothing, nor does what was before",
  async (_title, fate, travelMs) => {
    const { view, look } = await setUp();
    await look(3);
    expect(view.silentMs).toBe(2_000);
    expect(await look(4, fate, travelMs)).toBe(2_000);
    expect(await look(1)).toBe(2_000); // What was seen before stays, though looks are counted anew.
    expect(await look(2)).toBe(2_000);
    expect(await look(1)).toBe(3_000);
  },
);

test("an answer that takes two seconds says that others can renew", async () => {
  const { look } = await setUp();
  expect(await look(3, "arrives", 1_000)).toBe(4_000); // It was seen after two of the six that passed until the last look was sent.
});

test("a lease that somebody has deleted is not renewed", async () => {
  const { server, look } = await setUp();
  await look(2);
  server.lease = undefined;
  expect(await look(2)).toBe(3_000);
});
