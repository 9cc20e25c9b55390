import { expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { peerStage } from "#peer/stage.ts";

const BOOTSTRAP = { initialClusterState: "New" };
const ready = (status: string, observedGeneration: number) => [
  { type: "Other", status: "False", observedGeneration },
  { type: "Ready", status, observedGeneration },
];

test.each([
  ["that has yet to join", BOOTSTRAP, undefined, "underWay"],
  ["that is ready and has yet to be fenced", BOOTSTRAP, ready("True", 2), "underWay"],
  ["that is fenced and has no conditions", undefined, undefined, "finishing"],
  ["that is fenced, and was ready before", undefined, ready("True", 1), "finishing"],
  ["that is fenced and not ready", undefined, ready("False", 2), "finishing"],
  ["that is fenced and ready", undefined, ready("True", 2), "settled"],
] as const)("stage: a member %s", (_, bootstrap, conditions, stage) => {
  const peer = { metadata: { generation: 2 }, spec: { bootstrap }, status: { conditions } };
  expect(peerStage(peer as unknown as EtcdPeer)).toBe(stage);
});

test("stage: a member without a generation", () => {
  const peer = { metadata: {}, spec: {}, status: { conditions: ready("True", 0) } };
  expect(peerStage(peer as unknown as EtcdPeer)).toBe("settled");
});

test("stage: a deleted member", () => {
  expect(peerStage(undefined)).toBe("settled");
});
