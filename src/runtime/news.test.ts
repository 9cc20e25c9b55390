import { expect, test } from "vitest";
import type { KubeObject } from "#kube/kinds.ts";
import { isNewsOf } from "#runtime/news.ts";

const isNews = isNewsOf<KubeObject & { readonly spec?: unknown }>(({ spec }) => spec);
const object = (resourceVersion: string, more: object = {}) =>
  ({ metadata: { name: "foo", resourceVersion }, spec: { a: 1 }, ...more }) as unknown as KubeObject;
const labelled = { metadata: { name: "foo", resourceVersion: "2", labels: { a: "b" } } };

test.each([
  ["that is new", object("1"), undefined, true],
  ["of which only the version is another", object("2"), object("1"), false],
  ["of which what nobody reads is another", object("2", { status: { replicas: 1 } }), object("1"), false],
  ["of which what is read is another", object("2", { spec: { a: 2 } }), object("1"), true],
  ["of which a label is another", object("2", labelled), object("1"), true],
])("news: an object %s", (_, now, previous, expected) => {
  expect(isNews({ object: now, previous })).toBe(expected);
});
