import { expect, test } from "vitest";
import { selects } from "./selector.ts";

const LABELS = { app: "etcd", tier: "data" };

test.each<[string, Parameters<typeof selects>[0], boolean]>([
  ["a missing selector", undefined, false],
  ["an empty selector", {}, true],
  ["equal labels", { matchLabels: { app: "etcd", tier: "data" } }, true],
  ["a label with another value", { matchLabels: { app: "etcd", tier: "web" } }, false],
  ["a label that is not there", { matchLabels: { zone: "a" } }, false],
  ["In with the value", { matchExpressions: [{ key: "app", operator: "In", values: ["x", "etcd"] }] }, true],
  ["In without the value", { matchExpressions: [{ key: "app", operator: "In", values: ["x"] }] }, false],
  ["In of a label that is not there", { matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }, false],
  ["NotIn with the value", { matchExpressions: [{ key: "app", operator: "NotIn", values: ["etcd"] }] }, false],
  ["NotIn of a label that is not there", { matchExpressions: [{ key: "zone", operator: "NotIn", values: ["a"] }] }, true],
  ["Exists", { matchExpressions: [{ key: "app", operator: "Exists" }] }, true],
  ["Exists of a label that is not there", { matchExpressions: [{ key: "zone", operator: "Exists" }] }, false],
  ["DoesNotExist", { matchExpressions: [{ key: "zone", operator: "DoesNotExist" }] }, true],
  ["DoesNotExist of a label that is there", { matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, false],
  ["one of two that does not match", { matchLabels: { app: "etcd" }, matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] }, false],
])("label selector: %s", (_, selector, is) => expect(selects(selector, LABELS)).toBe(is)); // biome-ignore format: a table
