import { expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { peerStage } from "#peer/stage.ts";

const BOOTSTRAP = { initialClusterState: "New" };
const ready = (status: string, observedGeneration: number) => [
  { type: "Other", status: "False", observedGeneration },
  { type: "Ready", status, observedGeneration },
];

test.each([
  ["that has not joined is under way", BOOTSTRAP, undefined, "underWay"],
  ["that is ready and not fenced is under way", BOOTSTRAP, ready("True", 2), "underWay"],
  ["that is fenced and has no conditions is finishing", undefined, undefined, "finishing"],
  ["that is fenced and was ready at an earlier generation is finishing", undefined, ready("True", 1), "finishing"],
  ["that is fenced and not ready is finishing", undefined, ready("False", 2), "finishing"],
  ["that is fenced and ready is settled", undefined, ready("True", 2), "settled"],
] as const)("stage: a member %s", (_, bootstrap, conditions, stage) => {
  const peer = { metadata: { generation: 2 }, spec: { bootstrap }, status: { conditions } };
  expect(peerStage(peer as unknown as EtcdPeer)).toBe(stage);
});

test("stage: a fenced and ready member without a generation is settled", () => {
  const peer = { metadata: {}, spec: {}, status: { conditions: ready("True", 0) } };
  expect(peerStage(peer as unknown as EtcdPeer)).toBe("settled");
});

test("stage: a deleted member is settled", () => {
  expect(peerStage(undefined)).toBe("settled");
});
