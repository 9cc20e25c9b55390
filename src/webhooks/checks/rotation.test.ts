import { expect, test } from "vitest";
import { ROTATE_CA_ANNOTATION } from "#api/names.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { rotationRefusals } from "#webhooks/checks/rotation.ts";

function asking(words?: string) {
  return cluster({ annotations: words === undefined ? {} : { [ROTATE_CA_ANNOTATION]: words } }).cluster;
}

test.each([
  ["a request is accepted", "all", asking(), 0],
  ["another request is accepted", "all-2", asking("all"), 0],
  ["an unknown value is refused", "clients", asking(), 1],
  ["an unknown value is refused on a new cluster", "clients", undefined, 1],
  ["an unchanged unknown value is accepted", "clients", asking("clients"), 0],
  ["an unknown value is refused in place of another", "now", asking("clients"), 1],
  ["its removal is accepted", undefined, asking("clients"), 0],
])("annotation rotate-ca: %s", (_, words, before, refused) => {
  const refusals = rotationRefusals(asking(words), before);
  expect(refusals).toHaveLength(refused);
  for (const { field, message } of refusals)
    expect(`${field}: ${message}`).toBe(
      `metadata.annotations[etcd.improbable.io/rotate-ca]: it is "${words}"; it must be peer, client or all; to ask again, with something behind it, such as all-2, and 63 characters at most`,
    );
});
