import { expect, test } from "vitest";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { isInPassing } from "#cluster/news.ts";

const said = (type: string, status: "True" | "False", message = "") => ({
  type,
  status,
  reason: `Reason${message}`,
  message,
  observedGeneration: 1,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
const member = (more: object = {}) => ({
  ...{ name: "db-0", id: "a0", healthy: true, leader: true, learner: false },
  ...more,
});
const before: EtcdClusterStatus = {
  observedGeneration: 1,
  replicas: 3,
  readyReplicas: 3,
  ready: "3/3",
  selector: "a=b",
  members: [member()],
  conditions: [said("Ready", "True"), said("Degraded", "False")],
};

test.each<[string, EtcdClusterStatus, boolean]>([
  ["nothing", { ...before }, true],
  ["a count", { ...before, readyReplicas: 2, ready: "2/3", replicas: 4 }, true],
  ["which wish it is about, the leader and the version", { ...before, observedGeneration: 2, leader: "db-1" }, true],
  ["the version", { ...before, version: "3.6.1", clusterVersion: "3.6.0" }, true],
  ["how a member is", { ...before, members: [member({ healthy: false, leader: false, message: "down" })] }, true],
  ["words", { ...before, conditions: [said("Ready", "True", "x"), said("Degraded", "False", "y")] }, true],
  ["the order of conditions", { ...before, conditions: [said("Degraded", "False"), said("Ready", "True")] }, true],
  ["a condition", { ...before, conditions: [said("Ready", "False"), said("Degraded", "False")] }, false],
  ["that a condition is told at all", { ...before, conditions: [said("Ready", "True")] }, false],
  ["all conditions", { ...before, conditions: undefined }, false],
  ["that there is a member", { ...before, members: [member(), member({ name: "db-1", id: "a1" })] }, false],
  ["who is a member", { ...before, members: [member({ id: "a1" })] }, false],
  ["the name of a member", { ...before, members: [member({ name: "db-1" })] }, false],
  ["a vote", { ...before, members: [member({ learner: true })] }, false],
  ["all members", { ...before, members: undefined }, false],
  ["the selector, as all that is on record", { ...before, selector: "a=c" }, false],
])("news: %s differs: in passing %j", (_, after, expected) => {
  expect(isInPassing(before, after)).toBe(expected);
});

test("news: of a status that says nothing yet, the first word", () => {
  expect(isInPassing({}, before)).toBe(false);
  expect(isInPassing({}, { members: [], conditions: [], readyReplicas: 0 })).toBe(true);
});
