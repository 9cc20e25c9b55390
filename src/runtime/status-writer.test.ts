import { expect, test, vi } from "vitest";
import type { KubeObject, Resource } from "#kube/kinds.ts";
import { type Condition, unknownStatus } from "#runtime/conditions.ts";
import { statusWriter } from "./status-writer.ts";

interface Toy extends KubeObject {
  readonly metadata: KubeObject["metadata"] & { readonly namespace: string };
  readonly status?: { readonly size?: number; conditions?: Condition[] };
}

const TOYS: Resource<Toy> = { group: "example.org", version: "v1", kind: "Toy", plural: "toys", namespaced: true };
const NOW = Date.parse("2026-01-01T12:00:00Z");
const signal = new AbortController().signal;

const toy: Toy = {
  apiVersion: "example.org/v1",
  kind: "Toy",
  metadata: {
    namespace: "default",
    name: "bear",
    uid: "uid-of-bear",
    resourceVersion: "7",
    generation: 3,
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
  status: { size: 1 },
};
const key = { namespace: "default", name: "bear" };

function writerOf(cached: Toy | undefined) {
  const replace = vi.fn((_resource: unknown, object: unknown, _options: unknown) => Promise.resolve(object));
  const get = vi.fn((_ref: unknown, _reading?: "known") => cached);
  const writer = statusWriter<{ readonly toy: Toy }, Toy, NonNullable<Toy["status"]>>({
    kube: { replace } as never,
    resource: TOYS,
    cache: { get },
    clock: { wallMs: () => NOW },
    failing: (object, ...failure) => unknownStatus(object, ["Ready"], ...failure),
    objectOf: ({ toy }) => toy,
  });
  return { writer, replace, get };
}

test("a status is written with the resourceVersion that was read, and only when it differs", async () => {
  const { writer, replace } = writerOf(toy);
  expect(await writer.writeStatus({ toy }, { size: 1 }, signal)).toBeUndefined();
  expect(replace).not.toHaveBeenCalled();
  const object = { ...toy, status: { size: 2 } };
  expect(await writer.writeStatus({ toy }, { size: 2 }, signal)).toEqual({ kind: "stored", resource: TOYS, object });
  expect(replace.mock.calls).toEqual([[TOYS, object, { signal, subresource: "status" }]]);
  const { status: _, ...bare } = toy;
  expect(await writer.writeStatus({ toy: bare }, {}, signal)).toBeUndefined();
});

test("events and failures are reported for an object that was too large to cache", async () => {
  const { writer, get } = writerOf(toy);
  const subject = { apiVersion: "example.org/v1", kind: "Toy", namespace: "default", name: "bear", uid: "uid-of-bear" };
  expect(writer.subject({ toy })).toEqual(subject);
  expect(writer.subjectOf(key)).toEqual(subject);
  await writer.writeFailing(key, "a defect", signal);
  expect(get.mock.calls).toEqual([
    [key, "known"],
    [key, "known"],
  ]);
});

test("a failing object keeps its status and gets the condition Unknown, which is written once per message", async () => {
  const { writer, replace } = writerOf(toy);
  await writer.writeFailing(key, "a defect", signal);
  const condition = {
    type: "Ready",
    status: "Unknown",
    reason: "InternalError",
    message: "a defect",
    observedGeneration: 3,
    lastTransitionTime: "2026-01-01T12:00:00Z",
  };
  const failed = { ...toy, status: { size: 1, conditions: [condition] } };
  expect(replace.mock.calls[0]![1]).toEqual(failed);
  const again = writerOf(failed as Toy);
  expect(await again.writer.writeFailing(key, "a defect", signal)).toBeUndefined();
  await again.writer.writeFailing(key, "it is too large", signal, "ObjectTooLarge");
  expect(again.replace.mock.calls[0]![1]).toMatchObject({
    status: { conditions: [{ reason: "ObjectTooLarge", message: "it is too large" }] },
  });
});

test("a failure of an object that is gone is not reported", async () => {
  const { writer, replace } = writerOf(undefined);
  expect(writer.subjectOf(key)).toBeUndefined();
  expect(await writer.writeFailing(key, "a defect", signal)).toBeUndefined();
  expect(replace).not.toHaveBeenCalled();
});

test("a failing object without status and generation gets the condition Unknown", () => {
  const status = unknownStatus<NonNullable<Toy["status"]>>({ metadata: {} }, ["Complete"], "a defect", NOW);
  expect(status).toMatchObject({ conditions: [{ type: "Complete", status: "Unknown", observedGeneration: 0 }] });
});
