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
  ["no change when only the resourceVersion differs, without a status", thing("2"), thing("1"), []],
  ["no change when only the resourceVersion differs, with a status", thing("2", "Bound"), thing("1", "Bound"), []],
  ["a change of its status", thing("2", "Bound"), thing("1", "Pending"), ["modified"]],
  ["a status that is new", thing("2", "Bound"), thing("1"), ["modified"]],
])("putting an object into the store again reports %s", (_title, object, before, expected) => {
  const store = new Store<Thing>();
  store.put(before);
  expect(store.put(object).map(({ type }) => type)).toEqual(expected);
  expect(store.get(object.metadata)).toBe(object);
});

test.each([
  ["with the state in which it was deleted", "uid", "Pending", "Bound"],
  ["with the stored state when the deleted object has another uid", "other", "Pending", "Pending"],
])("removing an object from the store reports it %s", (_, uid, here, told) => {
  const store = new Store<Thing>();
  store.put(thing("1", here));
  const last = thing("2", "Bound");
  const [change] = store.remove({ ...last, metadata: { ...last.metadata, uid } });
  expect([change?.type, change?.object.metadata.uid, change?.object.status?.phase]).toEqual(["deleted", "uid", told]);
  expect(store.size).toBe(0);
});
