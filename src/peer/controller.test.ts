import { expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { FakeClock } from "#kit/fake-clock.ts";
import { peer } from "#kit/peer.ts";
import type { Pod } from "#kube/kinds.ts";
import { peerController } from "#peer/controller.ts";
import { planPeer } from "#peer/plan.ts";
import { peerStatus } from "#peer/status.ts";

const snapshot = peer();
const KEY = { namespace: "foo", name: "my-etcd-0" };
const signal = new AbortController().signal;

/** The controller of a room in which this is the only peer, and what it writes. */
function room(live: EtcdPeer | undefined) {
  const written: EtcdPeer[] = [];
  const replace = (_: unknown, object: EtcdPeer) => {
    written.push(object);
    return Promise.resolve(object);
  };
  const reads = { peers: { get: () => live }, clock: new FakeClock() } as never;
  return { controller: peerController({ replace } as never, reads), written };
}

test("that passes fail stands on the peer once, and how its member is, nobody knows until the next look at it", async () => {
  const { controller, written } = room({ ...snapshot.peer, status: peerStatus(snapshot, planPeer(snapshot)) });
  await controller.writeFailing(KEY, "it fails", signal);
  const [failing] = written;
  const told = ({ status }: EtcdPeer) => status?.conditions?.find(({ type }) => type === "Ready");
  expect(told(failing!)).toMatchObject({ status: "Unknown", reason: "InternalError", message: "it fails" });
  expect(failing!.status?.serverVersion).toBe(peerStatus(snapshot, planPeer(snapshot)).serverVersion);

  const again = room(failing);
  expect(await again.controller.writeFailing(KEY, "it fails", signal)).toBeUndefined();
  expect(again.written).toEqual([]);

  const next = { ...snapshot, peer: failing! };
  expect(told({ ...failing!, status: peerStatus(next, planPeer(next)) })?.reason).not.toBe("InternalError");
});

test("of a peer that is gone nothing is said", async () => {
  const { controller, written } = room(undefined);
  expect(controller.subjectOf(KEY)).toBeUndefined();
  expect(await controller.writeFailing(KEY, "it fails", signal)).toBeUndefined();
  expect(written).toEqual([]);
  expect(room(snapshot.peer).controller.subjectOf(KEY)).toEqual(controller.subject(snapshot));
});

test("what is about to come of a member that has just joined is looked for when it is due, and one at rest after a quarter of an hour at most", () => {
  const { controller } = room(undefined);
  const joined = peer({ stage: "joined" });
  const ready = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T11:00:00Z" };
  const pod = { ...joined.pod, status: { ...joined.pod?.status, conditions: [ready] } } as unknown as Pod;
  const readyFor = (ms: number) => ({ ...joined, pod, takenAtMs: Date.parse(ready.lastTransitionTime) + ms });
  expect(controller.restMs(readyFor(10_000), { next: "settled" })).toBe(20_000);
  const restMs = controller.restMs(readyFor(30_000), { next: "settled" });
  expect(restMs).toBeGreaterThanOrEqual(7.5 * 60_000);
  expect(restMs).toBeLessThanOrEqual(15 * 60_000);
});
