import { expect, test } from "vitest";
import { ROTATE_CA_ANNOTATION } from "#api/names.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { rotationRefusals } from "#webhooks/checks/rotation.ts";

function asking(words?: string) {
  return cluster({ annotations: words === undefined ? {} : { [ROTATE_CA_ANNOTATION]: words } }).cluster;
}

test.each([
  ["a wish", "all", asking(), 0],
  ["another wish", "all-2", asking("all"), 0],
  ["no wish", "clients", asking(), 1],
  ["an invalid request, on a new cluster", "clients", undefined, 1],
  ["an unchanged invalid request", "clients", asking("clients"), 0],
  ["an invalid request in place of another", "now", asking("clients"), 1],
  ["nothing", undefined, asking("clients"), 0],
])("the annotation is checked: %s", (_, words, before, refused) => {
  const refusals = rotationRefusals(asking(words), before);
  expect(refusals).toHaveLength(refused);
  for (const { field, message } of refusals)
    expect(`${field}: ${message}`).toBe(
      `metadata.annotations[etcd.improbable.io/rotate-ca]: it is "${words}"; it must be peer, client or all; to ask again, with something behind it, such as all-2, and 63 characters at most`,
    );
});
