import { expect, test } from "vitest";
import type { KubeObject } from "./kinds.ts";
import { Store } from "./store.ts";

interface Thing extends KubeObject {
  readonly status?: { readonly phase: string };
}

function thing(resourceVersion: string, phase?: string): Thing {
  const metadata = { name: "a", uid: "uid", resourceVersion };
  const status = phase === undefined ? {} : { status: { phase } };
  return { apiVersion: "v1", kind: "Thing", metadata, ...status } as Thing;
}

test.each([
  ["nothing but its version, without a status", thing("2"), thing("1"), []],
  ["nothing but its version, with a status", thing("2", "Bound"), thing("1", "Bound"), []],
  ["its status", thing("2", "Bound"), thing("1", "Pending"), ["modified"]],
  ["that it has a status", thing("2", "Bound"), thing("1"), ["modified"]],
])("of an object that was put again this differs: %s", (_title, object, before, expected) => {
  const store = new Store<Thing>();
  store.put(before);
  expect(store.put(object).map(({ type }) => type)).toEqual(expected);
  expect(store.get(object.metadata)).toBe(object);
});

test.each([
  ["as it was when it was deleted", "uid", "Pending", "Bound"],
  ["as it was here, when what was deleted is another one of its name", "other", "Pending", "Pending"],
])("an object that is removed is told %s", (_, uid, here, told) => {
  const store = new Store<Thing>();
  store.put(thing("1", here));
  const last = thing("2", "Bound");
  const [change] = store.remove({ ...last, metadata: { ...last.metadata, uid } });
  expect([change?.type, change?.object.metadata.uid, change?.object.status?.phase]).toEqual(["deleted", "uid", told]);
  expect(store.size).toBe(0);
});
