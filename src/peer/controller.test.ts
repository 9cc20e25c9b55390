import { expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { Pod } from "#kube/kinds.ts";
import { peerController } from "#peer/controller.ts";
import { planPeer } from "#peer/plan.ts";
import { peerStatus } from "#peer/status.ts";

const snapshot = peer();
const KEY = { namespace: "foo", name: "my-etcd-0" };
const signal = new AbortController().signal;

/** The controller with this only peer, and the objects that it writes. */
function setup(live: EtcdPeer | undefined) {
  const written: EtcdPeer[] = [];
  const replace = (_: unknown, object: EtcdPeer) => {
    written.push(object);
    return Promise.resolve(object);
  };
  const reads = { peers: { get: () => live }, clock: new FakeClock() } as never;
  return { controller: peerController({ replace } as never, reads), written };
}

test("failing passes are recorded once in the status, and Ready is Unknown until the next observation", async () => {
  const { controller, written } = setup({ ...snapshot.peer, status: peerStatus(snapshot, planPeer(snapshot)) });
  await controller.writeFailing(KEY, "it fails", signal);
  const [failing] = written;
  const readyOf = ({ status }: EtcdPeer) => status?.conditions?.find(({ type }) => type === "Ready");
  expect(readyOf(failing!)).toMatchObject({ status: "Unknown", reason: "InternalError", message: "it fails" });
  expect(failing!.status?.serverVersion).toBe(peerStatus(snapshot, planPeer(snapshot)).serverVersion);

  const again = setup(failing);
  expect(await again.controller.writeFailing(KEY, "it fails", signal)).toBeUndefined();
  expect(again.written).toEqual([]);

  const next = { ...snapshot, peer: failing! };
  expect(readyOf({ ...failing!, status: peerStatus(next, planPeer(next)) })?.reason).not.toBe("InternalError");
});

test("nothing is written for an EtcdPeer that does not exist", async () => {
  const { controller, written } = setup(undefined);
  expect(controller.subjectOf(KEY)).toBeUndefined();
  expect(await controller.writeFailing(KEY, "it fails", signal)).toBeUndefined();
  expect(written).toEqual([]);
  expect(setup(snapshot.peer).controller.subjectOf(KEY)).toEqual(controller.subject(snapshot));
});

test("a new member is rechecked when its delayed status is due, and a settled member within 15 minutes", () => {
  const { controller } = setup(undefined);
  const joined = peer({ stage: "joined" });
  const ready = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T11:00:00Z" };
  const pod = { ...joined.pod, status: { ...joined.pod?.status, conditions: [ready] } } as unknown as Pod;
  const readyFor = (ms: number) => ({ ...joined, pod, takenAtMs: Date.parse(ready.lastTransitionTime) + ms });
  expect(controller.restMs(readyFor(10_000), { next: "settled" })).toBe(20_000);
  const restMs = controller.restMs(readyFor(30_000), { next: "settled" });
  expect(restMs).toBeGreaterThanOrEqual(7.5 * 60_000);
  expect(restMs).toBeLessThanOrEqual(15 * 60_000);
});
