import { expect, test } from "vitest";
import { present, unknown } from "#base/observed.ts";
import { endpointStatus, pod } from "#kit/snapshots/cluster.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { Silences } from "#runtime/silences.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const POD = pod("my-etcd-1", { ready: false });

function setup() {
  const clock = new FakeClock();
  const silences = new Silences(clock, "etcd");
  let asked = 0;
  /** Calls as often as allowed for so long, with a pass every 100 ms; each call takes `takesMs` and gets no answer. */
  const looks = async (forMs: number, takesMs: number, of = POD) => {
    asked = 0;
    const endMs = clock.monotonicMs() + forMs;
    while (clock.monotonicMs() < endMs) {
      await silences.ask(KEY, of, async () => {
        asked += 1;
        await clock.advance(takesMs);
        return { status: unknown("it gave no answer"), passesAs: undefined };
      });
      await clock.advance(100);
    }
    return asked;
  };
  return { clock, silences, looks };
}

test("unresponsive members: a member that does not answer is called with growing pauses, at most ten seconds", async () => {
  const { looks } = setup();
  await looks(60_000, 1_000);
  expect(await looks(110_000, 1_000)).toBeLessThanOrEqual(11);
});

test("unresponsive members: a member is called again at once after its first missing answer, as it may be starting", async () => {
  const { looks } = setup();
  expect(await looks(2_000, 1_000)).toBe(2);
});

test("unresponsive members: a member that refuses connections is called in every pass, which costs no time", async () => {
  const { looks } = setup();
  expect(await looks(10_000, 1)).toBeGreaterThan(90);
});

test("unresponsive members: during the pause a pass gets the last result", async () => {
  const { silences, looks } = setup();
  await looks(20_000, 1_000);
  const answer = await silences.ask(KEY, POD, () => Promise.reject(new Error("no member is called")));
  expect(answer.status).toEqual(unknown("it gave no answer"));
});

test.each([
  ["another pod", { ...POD, metadata: { ...POD.metadata, uid: "another" } }],
  [
    "a container restart",
    { ...POD, status: { ...POD.status, containerStatuses: [{ name: "etcd", restartCount: 1 }] } },
  ],
  ["a change to Ready", pod("my-etcd-1", { ready: true })],
])("unresponsive members: %s ends the pause", async (_, changed) => {
  const { silences, looks } = setup();
  await looks(60_000, 1_000);
  const answers = present(endpointStatus("c1", "a1", "a1"));
  const answer = await silences.ask(KEY, changed as typeof POD, () =>
    Promise.resolve({ status: answers, passesAs: undefined }),
  );
  expect(answer.status).toBe(answers);
});

test("unresponsive members: restarts of a sidecar do not end the pause", async () => {
  const { silences, looks } = setup();
  await looks(60_000, 1_000);
  const containerStatuses = [{ name: "agent", restartCount: 9 }];
  const changed = { ...POD, status: { ...POD.status, containerStatuses } } as unknown as typeof POD;
  const answer = await silences.ask(KEY, changed, () => Promise.reject(new Error("no member is called")));
  expect(answer.status).toEqual(unknown("it gave no answer"));
});

test("unresponsive members: an answer ends the pause, and pods that are gone are forgotten", async () => {
  const { clock, silences, looks } = setup();
  await looks(60_000, 1_000);
  await clock.advance(10_000);
  const status = present(endpointStatus("c1", "a1", "a1"));
  await silences.ask(KEY, POD, () => Promise.resolve({ status, passesAs: undefined }));
  expect(await looks(2_000, 1_000)).toBe(2);
  await looks(60_000, 1_000);
  silences.keep(KEY, []);
  expect(await looks(2_000, 1_000)).toBe(2);
});
