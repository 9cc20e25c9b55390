import { expect, test } from "vitest";
import { eventName } from "./event-name.ts";

test.each([
  ["restart-member", "RestartMember"],
  ["deleting", "Deleting"],
  ["restartPod", "RestartPod"],
  ["raft-snapshot-first", "RaftSnapshotFirst"],
  ["InternalError", "InternalError"],
])("the event name of %s is %s", (name, expected) => {
  expect(eventName(name)).toBe(expected);
});
